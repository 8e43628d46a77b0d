//! Gathering all groups side by side, under one deadline.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use super::{
    Expected, Fact, Facts, clock, cuda, docker, driver, environment, fabric, gpu, kernel_log, libraries,
    limits, modules, network, pci, python, rdma, system, toolkit,
};
use catalog::Catalog;
use host::record::{Recorder, Replay};
use host::{Host, Missing, MissingKind};

/// Gathers everything from a machine until `deadline`.
///
/// Each group has a thread. When one is held by the kernel beyond the deadline (a dead file server), the
/// group is gathered again from what had been answered by then; only what hung, and what would have been
/// asked after it, is unknown.
pub fn live(host: &Recorder, deadline: Instant, expected: Expected, catalog: &'static Catalog) -> Facts {
    fn start<T: Send + 'static>(
        host: &Recorder,
        gather: impl FnOnce(&dyn Host) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (sender, receiver) = channel();
        let host = host.clone();
        // A thread that cannot be started or that panics drops the sender: the group is then gathered as
        // after a deadline.
        let _ = std::thread::Builder::new().name("gather".into()).spawn(move || sender.send(gather(&host)));
        receiver
    }
    fn finish<T>(
        receiver: &Receiver<T>,
        host: &Recorder,
        deadline: Instant,
        gather: impl FnOnce(&dyn Host) -> T,
    ) -> T {
        let left = deadline.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).unwrap_or_else(|error| {
            let reason = match error {
                RecvTimeoutError::Timeout => {
                    Missing::new(MissingKind::TimedOut { milliseconds: None }, "no answer within --timeout")
                }
                RecvTimeoutError::Disconnected => {
                    Missing::from("envdoc crashed while reading this; please report it")
                }
            };
            gather(&Replay::new(host.readings(), reason))
        })
    }
    let gpu_groups = move |host: &dyn Host| gpu_groups(host, catalog);
    let driver_group = move |host: &dyn Host| driver::gather(host, catalog);
    let files_group = move |host: &dyn Host| file_groups(host, catalog);
    let docker_group = move |host: &dyn Host| docker::gather(host, catalog);
    // Slow ones first: programs and engines answer while files are read.
    let gpus = start(host, gpu_groups);
    let docker = start(host, docker_group);
    let driver = start(host, driver_group);
    let kernel_log = start(host, kernel_log::gather);
    let python = start(host, python::gather);
    let files = start(host, files_group);
    let groups = Groups {
        files: finish(&files, host, deadline, files_group),
        gpus: finish(&gpus, host, deadline, gpu_groups),
        driver: finish(&driver, host, deadline, driver_group),
        kernel_log: finish(&kernel_log, host, deadline, kernel_log::gather),
        docker: finish(&docker, host, deadline, docker_group),
        python: finish(&python, host, deadline, python::gather),
    };
    groups.facts(expected, catalog)
}

/// Gathers everything from a host that cannot hang: a recorded one.
pub fn recorded(host: &dyn Host, expected: Expected, catalog: &'static Catalog) -> Facts {
    let groups = Groups {
        files: file_groups(host, catalog),
        gpus: gpu_groups(host, catalog),
        driver: driver::gather(host, catalog),
        kernel_log: kernel_log::gather(host),
        docker: docker::gather(host, catalog),
        python: python::gather(host),
    };
    groups.facts(expected, catalog)
}

/// Results of the threads.
struct Groups {
    files: FileGroups,
    gpus: (gpu::Gpus, fabric::Fabric),
    driver: driver::Driver,
    kernel_log: kernel_log::KernelLog,
    docker: docker::Docker,
    python: python::Python,
}

impl Groups {
    fn facts(self, expected: Expected, catalog: &'static Catalog) -> Facts {
        let Groups { files, gpus: (gpu, fabric), driver, kernel_log, docker, python } = self;
        Facts {
            catalog,
            expected,
            live: Fact::Absent,
            system: files.system,
            clock: files.clock,
            pci: files.pci,
            modules: files.modules,
            cuda: files.cuda,
            libraries: files.libraries,
            toolkit: files.toolkit,
            network: files.network,
            rdma: files.rdma,
            limits: files.limits,
            environment: files.environment,
            driver,
            gpu,
            fabric,
            kernel_log,
            docker,
            python,
        }
    }
}

/// The fabric asks what the GPUs say: one after the other, so that `nvidia-smi` is not started twice at once.
fn gpu_groups(host: &dyn Host, catalog: &Catalog) -> (gpu::Gpus, fabric::Fabric) {
    (gpu::gather(host, catalog), fabric::gather(host, catalog))
}

/// The groups that only read small files: a thread for each would cost more than it saves.
struct FileGroups {
    system: system::System,
    clock: clock::Clock,
    pci: pci::Pci,
    modules: modules::Modules,
    cuda: cuda::Cuda,
    libraries: libraries::Libraries,
    toolkit: toolkit::Toolkit,
    network: network::Network,
    rdma: rdma::Rdma,
    limits: limits::Limits,
    environment: environment::Environment,
}

fn file_groups(host: &dyn Host, catalog: &Catalog) -> FileGroups {
    FileGroups {
        system: system::gather(host, catalog),
        clock: clock::gather(host, catalog),
        pci: pci::gather(host),
        modules: modules::gather(host),
        cuda: cuda::gather(host),
        libraries: libraries::gather(host),
        toolkit: toolkit::gather(host, catalog),
        network: network::gather(host),
        rdma: rdma::gather(host),
        limits: limits::gather(host),
        environment: environment::gather(host),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use catalog::testing::catalog;
    use host::{Ask, Reading};

    /// A machine on which one reading is held by the kernel, as files of a dead file server are.
    struct Held;

    impl Host for Held {
        fn ask(&self, ask: Ask<'_>) -> Reading {
            match ask {
                Ask::Read("/proc/modules") => {
                    std::thread::sleep(Duration::from_secs(60));
                    Reading::Absent
                }
                Ask::Read("/proc/sys/kernel/osrelease") => Reading::Text("6.8.0-45-generic\n".into()),
                Ask::Clock => Reading::Text("1700000000".into()),
                _ => Reading::Absent,
            }
        }
    }

    #[test]
    fn hanging_reading_times_out_and_others_are_known() {
        let started = Instant::now();
        let deadline = started + Duration::from_millis(300);
        let facts = live(&Recorder::new(Arc::new(Held)), deadline, Expected::default(), catalog());
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        let loaded = &facts.modules.loaded;
        assert!(matches!(loaded, Fact::Unknown(why) if why.detail.contains("--timeout")), "{loaded:?}");
        assert_eq!(facts.system.kernel, Fact::Known("6.8.0-45-generic".into()));
        assert_eq!(facts.docker.program, Fact::Absent);
    }

    /// A machine on which looking panics.
    struct Panics;

    impl Host for Panics {
        fn ask(&self, ask: Ask<'_>) -> Reading {
            assert!(ask != Ask::Clock, "a fault of envdoc's own");
            Reading::Absent
        }
    }

    #[test]
    fn a_fault_in_one_group_leaves_the_others() {
        let deadline = Instant::now() + Duration::from_secs(5);
        let facts = live(&Recorder::new(Arc::new(Panics)), deadline, Expected::default(), catalog());
        assert!(matches!(&facts.clock.now, Fact::Unknown(why) if why.detail.contains("envdoc crashed")));
        assert_eq!(facts.docker.program, Fact::Absent);
    }
}
