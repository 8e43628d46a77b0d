//! The real machine, or a file system below a root that is examined from outside.
#![expect(clippy::disallowed_methods, reason = "the one place that reads the machine")]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use diagnostic::units::memory;

use super::{Ask, FileKind, Host, Missing, MissingKind, Reading, Space, Stat, process, program};
use super::{secret_names::is_secret, sensitivity::KERNEL_LOG_WORDS};

/// The most that is read of one file, in bytes; a larger one is refused, not cut.
const FILE_MAX: u64 = 4 << 20;
/// The most that is taken of a binary file, in bytes: the configuration space of a PCI Express device.
const HEX_MAX: u64 = 4096;
/// The most names that are taken from one directory.
const NAMES_MAX: usize = 20_000;
/// The kernel's log is a device of which only records that can matter here are kept; see [`kernel_log`].
const KERNEL_LOG: &str = "/dev/kmsg";

/// The variables of its own environment that envdoc looks at: these names, and all that begin with an entry
/// that ends in `_`. Others are never read, so that no snapshot holds them.
pub const VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "SUDO_USER",
    "HOSTNAME",
    "SHELL",
    "container",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LIBRARY_PATH",
    "CPATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONNOUSERSITE",
    "PYENV_VERSION",
    "PYENV_ROOT",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "MASTER_ADDR",
    "MASTER_PORT",
    "WORLD_SIZE",
    "RANK",
    "LOCAL_RANK",
    "NODE_RANK",
    "OMP_NUM_THREADS",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "KUBERNETES_SERVICE_HOST",
    "CUDA",
    "NCCL_",
    "TORCH_",
    "PYTORCH_",
    "CUDA_",
    "CUDNN_",
    "NVIDIA_",
    "NV_",
    "DS_",
    "DEEPSPEED_",
    "GLOO_",
    "TP_SOCKET_IFNAME",
    "UCX_",
    "OMPI_",
    "MV2_",
    "MELLANOX_",
    "IBV_",
    "RDMAV_",
    "FI_",
    "OFI_",
    "NVSHMEM_",
    "TRITON_",
    "CONDA_",
    "PIP_",
    "UV_",
    "DOCKER_",
    "COMPOSE_",
    "BUILDKIT_",
    "CONTAINERD_",
    "PODMAN_",
    "SLURM_",
    "WSL_",
];

/// Asks container engines for [`Live`], which knows no connections of its own.
pub trait Engines: Send + Sync {
    /// A GET for `path` (`/info`) to `endpoint` (`unix:///var/run/docker.sock`, `ssh://…`) until `deadline`.
    fn get(&self, endpoint: &str, path: &str, deadline: Instant) -> Reading;
}

/// The machine that envdoc runs on.
pub struct Live {
    root: Option<OwnedFd>,
    root_name: String,
    deadline: Instant,
    engines: Option<Arc<dyn Engines>>,
}

impl Live {
    /// The machine itself, without access to engines; programs are stopped at `deadline`.
    pub fn new(deadline: Instant) -> Self {
        Live { root: None, root_name: String::new(), deadline, engines: None }
    }

    /// The same, with container engines asked through `engines`.
    pub fn with_engines(self, engines: Arc<dyn Engines>) -> Self {
        Live { engines: Some(engines), ..self }
    }

    /// The files below `root`, links resolved as if it were `/`. Nothing is run and no engine is asked: their
    /// answers would be those of this machine.
    pub fn below(root: &str, deadline: Instant) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(root, flags, Mode::empty())?;
        let root_name = fs::canonicalize(root)?.to_string_lossy().into_owned();
        Ok(Live { root: Some(directory), root_name, deadline, engines: None })
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<File> {
        // openat2 refuses flags that mean nothing for a path.
        let quiet =
            if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NOCTTY | OFlags::NONBLOCK };
        let flags = flags | quiet | OFlags::CLOEXEC;
        let descriptor = match &self.root {
            None => rustix::fs::openat(CWD, path, flags, Mode::empty())?,
            Some(root) => openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?,
        };
        Ok(File::from(descriptor))
    }

    fn read_file(&self, path: &str) -> io::Result<Reading> {
        // Opened as a path first: opening a device or a pipe can itself do something.
        let metadata = self.open(path, OFlags::PATH)?.metadata()?;
        let kind = metadata.file_type();
        if path == KERNEL_LOG && self.root.is_none() {
            // Containers have links to /dev/console or /dev/null there, which would read as a log without
            // events.
            if !kind.is_char_device() || metadata.rdev() != rustix::fs::makedev(1, 11) {
                return Ok(Reading::failed("not the kernel log in this container"));
            }
            return kernel_log(self.open(path, OFlags::RDONLY)?);
        }
        if !kind.is_file() {
            return Ok(Reading::failed(format!("is a {}, not a file", file_kind(kind))));
        }
        let mut bytes = Vec::new();
        self.open(path, OFlags::RDONLY)?.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_MAX {
            let detail = format!("is larger than {}; not read", memory(FILE_MAX));
            return Ok(Reading::Failed(Missing::new(MissingKind::TooLarge, detail)));
        }
        Ok(Reading::Text(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn read_hex(&self, path: &str) -> io::Result<Reading> {
        let kind = self.open(path, OFlags::PATH)?.metadata()?.file_type();
        if !kind.is_file() {
            return Ok(Reading::failed(format!("is a {}, not a file", file_kind(kind))));
        }
        let mut bytes = Vec::new();
        self.open(path, OFlags::RDONLY)?.take(HEX_MAX).read_to_end(&mut bytes)?;
        Ok(Reading::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    fn list_directory(&self, dir: &str, prefixes: &[&str]) -> io::Result<Reading> {
        let directory = self.open(dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(directory)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let wanted = prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix));
            if name != "." && name != ".." && wanted {
                names.push(name);
            }
            if names.len() > NAMES_MAX {
                return Ok(Reading::failed(format!("holds more than {NAMES_MAX} names; not listed")));
            }
        }
        names.sort_unstable();
        Ok(Reading::Text(names.join("\n")))
    }

    fn stat_path(&self, path: &str) -> io::Result<Reading> {
        let file = self.open(path, OFlags::PATH)?;
        let metadata = file.metadata()?;
        let link = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let real = link.map_or_else(|_| path.to_owned(), |real| real.to_string_lossy().into_owned());
        let real = match real.strip_prefix(&self.root_name) {
            Some("") => "/".to_owned(),
            Some(below_root) if below_root.starts_with('/') => below_root.to_owned(),
            _ => real,
        };
        as_json(&Stat {
            kind: file_kind(metadata.file_type()),
            mode: format!("{:04o}", metadata.mode() & 0o7777),
            uid: metadata.uid(),
            gid: metadata.gid(),
            size: metadata.size(),
            mtime: metadata.mtime(),
            path: real,
        })
    }

    fn space_at(&self, path: &str) -> io::Result<Reading> {
        let file = self.open(path, OFlags::PATH)?;
        let space = rustix::fs::fstatvfs(&file)?;
        as_json(&Space {
            total: space.f_blocks.saturating_mul(space.f_frsize),
            available: space.f_bavail.saturating_mul(space.f_frsize),
        })
    }

    /// Below a root the PATH of the shell that started envdoc means nothing: the usual folders are searched
    /// there.
    fn program(&self, name: &str) -> Reading {
        if self.root.is_none() {
            return match program::find(name) {
                Some(path) => Reading::Text(path.to_string_lossy().into_owned()),
                None => Reading::Absent,
            };
        }
        let executable = |path: &String| {
            let metadata = self.open(path, OFlags::PATH).and_then(|file| file.metadata());
            metadata.is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
        };
        let found =
            program::DEFAULT_PATH.split(':').map(|folder| format!("{folder}/{name}")).find(executable);
        found.map_or(Reading::Absent, Reading::Text)
    }

    fn outside(&self, what: &str, answer: impl FnOnce() -> Reading) -> Reading {
        match self.root {
            None => answer(),
            Some(_) => Reading::failed(format!("{what} under --root (it would describe this machine)")),
        }
    }
}

impl Host for Live {
    fn ask(&self, ask: Ask<'_>) -> Reading {
        match ask {
            Ask::Read(path) => or_failed(self.read_file(path)),
            Ask::Hex(path) => or_failed(self.read_hex(path)),
            Ask::List(dir) => or_failed(self.list_directory(dir, &[])),
            Ask::Find(dir, prefixes) => or_failed(self.list_directory(dir, prefixes)),
            Ask::Stat(path) => or_failed(self.stat_path(path)),
            Ask::Space(path) => or_failed(self.space_at(path)),
            Ask::Program(name) => self.program(name),
            Ask::Run(argv, limit) => self.outside("programs are not run", || {
                process::run(argv, self.deadline.min(Instant::now() + limit))
            }),
            // Nothing runs below a root, so there is no environment; that of an image is in its
            // configuration.
            Ask::Environment if self.root.is_some() => Reading::Absent,
            Ask::Environment => environment(),
            Ask::Engine(endpoint, path) => self.outside("no engine is asked", || match &self.engines {
                Some(engines) => engines.get(endpoint, path, self.deadline),
                None => Reading::failed("no access to container engines"),
            }),
            Ask::Clock => Reading::Text(since_epoch(SystemTime::now()).as_secs().to_string()),
        }
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn or_failed(result: io::Result<Reading>) -> Reading {
    result.unwrap_or_else(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Reading::Absent,
        ErrorKind::PermissionDenied => Reading::Failed(Missing::denied()),
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Reading::failed("symlink loop")
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error()) => {
            Reading::failed("--root needs Linux 5.6 or newer (openat2)")
        }
        _ => {
            let kind = error.raw_os_error().map_or(MissingKind::Other, MissingKind::Os);
            Reading::Failed(Missing::new(kind, error.to_string()))
        }
    })
}

fn as_json(value: &impl serde::Serialize) -> io::Result<Reading> {
    serde_json::to_string(value).map(Reading::Text).map_err(io::Error::other)
}

fn file_kind(kind: fs::FileType) -> FileKind {
    match kind {
        _ if kind.is_file() => FileKind::File,
        _ if kind.is_dir() => FileKind::Directory,
        _ if kind.is_socket() => FileKind::Socket,
        _ if kind.is_fifo() => FileKind::Pipe,
        _ if kind.is_char_device() => FileKind::CharacterDevice,
        _ if kind.is_block_device() => FileKind::BlockDevice,
        _ => FileKind::Other,
    }
}

/// A variable whose name is that of a credential is never read into envdoc, redacted or not.
fn environment() -> Reading {
    let mut lines: Vec<String> = std::env::vars_os()
        .map(|(name, value)| {
            (name.to_string_lossy().into_owned(), value.to_string_lossy().replace('\n', " "))
        })
        .filter(|(name, _)| {
            VARIABLES.iter().any(|known| name == known || (known.ends_with('_') && name.starts_with(known)))
        })
        .map(|(name, value)| if is_secret(&name) { format!("{name}=***") } else { format!("{name}={value}") })
        .collect();
    lines.sort_unstable();
    Reading::Text(lines.join("\n"))
}

/// Records of the kernel's ring buffer that name a GPU, its driver, an NVSwitch, an RDMA adapter, a PCIe
/// error or a process killed for memory. The device gives one record a read and EAGAIN at the end:
/// `6,1234,5012345,-;NVRM: Xid (PCI:0000:41:00): 79, …` (priority, sequence, microseconds since boot, flags;
/// text).
fn kernel_log(mut device: File) -> io::Result<Reading> {
    let mut text = String::new();
    let mut record = [0; 8192];
    loop {
        match device.read(&mut record) {
            Ok(0) => break,
            Ok(count) => {
                let record = String::from_utf8_lossy(&record[..count]);
                let first = record.lines().next().unwrap_or_default();
                if KERNEL_LOG_WORDS.iter().any(|word| first.contains(word)) {
                    text.push_str(first);
                    text.push('\n');
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The record was overwritten while being read (EPIPE): the next read continues behind the gap.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Reading::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn live() -> Live {
        Live::new(Instant::now() + Duration::from_secs(5))
    }

    #[test]
    fn odd_files_fail_with_their_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        symlink(path("loop"), path("loop")).unwrap();
        rustix::fs::mknodat(CWD, path("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        File::create(path("huge")).unwrap().set_len(100 << 20).unwrap();
        fs::write(path("latin1"), b"caf\xe9").unwrap();
        let cases = [
            (path("loop"), Reading::failed("symlink loop")),
            (path("pipe"), Reading::failed("is a pipe, not a file")),
            (
                path("huge"),
                Reading::Failed(Missing::new(MissingKind::TooLarge, "is larger than 4 MiB; not read")),
            ),
            (path(""), Reading::failed("is a directory, not a file")),
            (path("none"), Reading::Absent),
            (path("latin1/below"), Reading::Absent),
            (path("latin1"), Reading::Text("caf\u{fffd}".into())),
            ("/dev/null".into(), Reading::failed("is a character-device, not a file")),
        ];
        for (path, expected) in cases {
            assert_eq!(live().read(&path), expected, "{path}");
        }
    }

    #[test]
    fn root_option_confines_symlinks_and_runs_no_commands() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("etc")).unwrap();
        fs::write(dir.path().join("etc/hostname"), "inside\n").unwrap();
        symlink("/etc/hostname", dir.path().join("link")).unwrap();
        symlink("../../../../etc/hostname", dir.path().join("up")).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        let host = Live::below(&dir.path().to_string_lossy(), deadline).unwrap();
        for path in ["/etc/hostname", "/link", "/up"] {
            assert_eq!(host.read(path), Reading::Text("inside\n".into()), "{path}");
        }
        let Reading::Text(stat) = host.stat("/link") else { panic!("no stat") };
        let stat: Stat = serde_json::from_str(&stat).unwrap();
        assert_eq!((stat.path.as_str(), stat.kind, stat.size), ("/etc/hostname", FileKind::File, 7));
        for ask in [Ask::Run(&["true"], Duration::from_secs(1)), Ask::Engine("unix:///x", "/info")] {
            assert!(matches!(host.ask(ask), Reading::Failed(_)), "{ask}");
        }
    }

    #[test]
    fn binary_files_are_read_as_hexadecimal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        fs::write(&path, [0xde, 0x10, 0x00, 0xff]).unwrap();
        assert_eq!(live().hex(&path.to_string_lossy()), Reading::Text("de1000ff".into()));
        assert_eq!(live().hex(&dir.path().join("none").to_string_lossy()), Reading::Absent);
        assert!(matches!(live().hex(&dir.path().to_string_lossy()), Reading::Failed(_)));
    }

    #[test]
    fn names_are_sorted_and_chosen_by_prefix() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["libnccl.so.2", "libcuda.so", "other"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let dir = dir.path().to_string_lossy();
        assert_eq!(live().list(&dir), Reading::Text("libcuda.so\nlibnccl.so.2\nother".into()));
        assert_eq!(live().find(&dir, &["lib"]), Reading::Text("libcuda.so\nlibnccl.so.2".into()));
    }
}
