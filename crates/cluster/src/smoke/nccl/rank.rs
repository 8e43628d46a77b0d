//! A rank, inside: what a worker does for the all-reduce of NCCL. One GPU, one communicator, one task at a
//! time.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::{Error, Reported};
use super::gpu::{self, Device};
use super::library::{self, Communicator, ID, Id, Nccl};
use super::search::{self, Choice};
use super::{Answer, Ground, Opened, Task, words};
use crate::smoke::gpu::Loaded;
use crate::smoke::pattern;
use crate::smoke::transport::Infiniband;
use host::variables::text as variable;

/// The part of its deadline after which a task gives up by itself, to be able to say why.
const OWN_DEADLINE_RATIO: f64 = 0.85;
/// How long the process goes on when a call of NCCL has not come back: until its answer was read.
const ANSWER_GRACE: Duration = Duration::from_secs(2);
/// Limit of NCCL's log in bytes.
const LOG_LIMIT_BYTES: usize = 4 << 20;
/// What an image's C library says of itself.
const GLIBC: &[u8] = b"GNU C Library ";

/// Between two tasks.
#[derive(Default)]
struct State {
    nccl: Option<Nccl>,
    device: Option<Device>,
    joined: Option<(Communicator, usize, usize)>,
    log: Option<OwnedFd>,
}

/// This process's rank.
static STATE: Mutex<State> = Mutex::new(State { nccl: None, device: None, joined: None, log: None });
/// Whether a library was loaded that may hang when the process ends.
static LOADED: AtomicBool = AtomicBool::new(false);

/// Does a task; the caller has the deadline.
pub async fn answer(task: Task, deadline: Duration) -> Answer {
    let early = deadline.mul_f64(OWN_DEADLINE_RATIO);
    let until = Instant::now() + early;
    let what = match &task {
        Task::Look => "inspecting the container",
        Task::Open { .. } => "opening libnccl and the GPU",
        Task::UniqueId => "ncclGetUniqueId",
        Task::Join { .. } => "ncclCommInitRank",
        Task::AllReduce { .. } => "the all-reduce",
        Task::Log => "NCCL's log",
    };
    let working = async {
        let choice = if matches!(task, Task::Open { .. }) { search::here().await } else { Choice::default() };
        tokio::task::spawn_blocking(move || work(task, &choice, until)).await
    };
    // What gives up by itself does it a little before this.
    match tokio::time::timeout(deadline.mul_f64(f64::midpoint(OWN_DEADLINE_RATIO, 1.0)), working).await {
        Ok(Ok(Ok(answer))) => answer,
        Ok(Ok(Err(error))) => Answer::Broken { message: error.into() },
        Ok(Err(error)) => Answer::Broken { message: Reported(format!("{what}: {error}")) },
        Err(_) => {
            end_within(ANSWER_GRACE);
            let message = format!(
                "{what} did not return within {:.1} s; the rank's process is killed",
                early.as_secs_f64()
            );
            Answer::Broken { message: Reported(message) }
        }
    }
}

/// Ends this process after a while, whatever hangs in it: called when the worker's work is over. Libraries
/// that wait for a GPU in their last moments, or a call that never came back, would hold it.
pub fn end_surely() {
    if LOADED.load(Ordering::Relaxed) {
        end_within(ANSWER_GRACE * 2);
    }
}

fn end_within(grace: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(grace);
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
}

fn work(task: Task, choice: &Choice, until: Instant) -> Result<Answer, Error> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    match task {
        Task::Look => Ok(Answer::Ground(look())),
        Task::Open { device, environment } => {
            let (log, path) = library::nameless().map_err(Error::LogFile)?;
            let own = [("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH,ENV")];
            library::set_environment(own.map(|(name, value)| (name, value.to_owned())));
            library::set_environment([("NCCL_DEBUG_FILE", path)]);
            let missing = environment.iter().filter(|(name, _)| variable(name).is_none());
            library::set_environment(missing.map(|(name, value)| (name.as_str(), value.clone())));
            state.log = Some(log);
            LOADED.store(true, Ordering::Relaxed);
            Ok(Answer::Opened(Box::new(open(&mut state, choice, device))))
        }
        Task::UniqueId => {
            let id = state.nccl.ok_or(Error::NotLoaded)?.unique_id()?;
            Ok(Answer::Id { id: hex(&id.0) })
        }
        Task::Join { id, number, world } => {
            let nccl = state.nccl.ok_or(Error::NotLoaded)?;
            let device = state.device.as_ref().ok_or(Error::NoGpu)?;
            device.enter()?;
            let of = |number: usize| i32::try_from(number).map_err(|_| Error::RankNumber(number));
            let id = unhex(&id).ok_or(Error::UniqueId)?;
            let communicator = nccl.join(id, (of(number)?, of(world)?), until)?;
            state.joined = Some((communicator, number, world));
            Ok(Answer::Joined)
        }
        Task::AllReduce { elements, warmup, iterations } => {
            let done = reduce(&state, elements, (warmup, iterations), until);
            if done.is_err() {
                state.joined = None;
            }
            done
        }
        Task::Log => Ok(Answer::Log { lines: log(&state) }),
    }
}

fn open(state: &mut State, choice: &Choice, device: usize) -> Opened {
    let library = Nccl::open(&choice.path).and_then(|nccl| {
        let version = words::version(nccl.version()?);
        state.nccl = Some(nccl);
        let path = mapped().unwrap_or_else(|| choice.path.display().to_string());
        Ok(Loaded { path, from: choice.from.clone(), version })
    });
    let library = library
        .map_err(|error: Error| Reported(format!("{} ({}): {error}", choice.path.display(), choice.from)));
    let gpu = gpu::open(device).map(|(device, gpu)| {
        state.device = Some(device);
        gpu
    });
    let gpu = gpu.map_err(Reported::from);
    let (infiniband, rates) = infiniband();
    Opened { library, remarks: choice.remarks.clone(), gpu, infiniband, rates }
}

fn reduce(
    state: &State,
    elements: usize,
    (warmup, iterations): (usize, usize),
    until: Instant,
) -> Result<Answer, Error> {
    let (nccl, device) = state.nccl.zip(state.device.as_ref()).ok_or(Error::NoGpu)?;
    let (communicator, number, world) = state.joined.ok_or(Error::NotJoined)?;
    let mut numbers = vec![0.0; elements];
    pattern::add(number, 0, &mut numbers);
    let mut buffer = device.put(&numbers)?;
    drop(numbers);
    device.sum(&nccl, communicator, &buffer, 1, until)?;
    device.wait(&nccl, communicator, until)?;
    let (wrong, first_wrong) = pattern::wrong(world, 0, &device.get(&buffer)?);
    // What is summed again and again would soon be infinite.
    device.zero(&mut buffer)?;
    device.sum(&nccl, communicator, &buffer, warmup, until)?;
    device.wait(&nccl, communicator, until)?;
    let start = Instant::now();
    device.sum(&nccl, communicator, &buffer, iterations, until)?;
    device.wait(&nccl, communicator, until)?;
    let seconds = (iterations > 0).then(|| start.elapsed().as_secs_f64() / iterations as f64);
    Ok(Answer::Reduced { seconds, wrong, first_wrong })
}

fn log(state: &State) -> Vec<String> {
    let Some(file) = &state.log else { return Vec::new() };
    let (mut bytes, mut length) = (vec![0; LOG_LIMIT_BYTES], 0);
    while let Ok(count) = rustix::io::pread(file, &mut bytes[length..], length as u64) {
        if count == 0 {
            break;
        }
        length += count;
    }
    String::from_utf8_lossy(&bytes[..length]).lines().map(str::to_owned).collect()
}

/// The file of the libnccl that is loaded.
fn mapped() -> Option<String> {
    let maps = file("/proc/self/maps")?;
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| line[at..].to_owned()))
        .find(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("libnccl.so")))
}

fn look() -> Ground {
    let own = file("/proc/self/maps").and_then(|maps| {
        let path = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(|path| {
            path.rsplit('/').next().is_some_and(|name| name == "libc.so.6" || name.starts_with("libc-2"))
        })?;
        glibc(path)
    });
    let kernel = std::env::consts::ARCH;
    let folders = [
        format!("/lib/{kernel}-linux-gnu"),
        format!("/usr/lib/{kernel}-linux-gnu"),
        "/lib64".into(),
        "/usr/lib64".into(),
    ];
    let image = folders.iter().find_map(|folder| glibc(&format!("{folder}/libc.so.6")));
    let devices = entries("/dev").into_iter().filter(|name| {
        name.strip_prefix("nvidia")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit()))
    });
    let library_path = variable("LD_LIBRARY_PATH").unwrap_or_default();
    Ground { image, own, library_path, devices: devices.count() }
}

/// `2.36`, as the library says of itself: `GNU C Library (Debian GLIBC 2.36-9+deb12u10) stable release
/// version 2.36.`
fn glibc(path: &str) -> Option<String> {
    let bytes = host::file::read_bytes(Path::new(path)).ok()?;
    let at = memchr::memmem::find(&bytes, GLIBC)?;
    let line = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 200)]).into_owned();
    let (_, version) = line.split_once("release version ")?;
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    Some(version[..end].trim_end_matches('.').to_owned())
}

/// What may keep NCCL from InfiniBand, and the rates of its ports in Gbit/s.
fn infiniband() -> (Infiniband, Vec<u32>) {
    let class = "/sys/class/infiniband";
    let devices = entries(class);
    let ports = devices.iter().flat_map(|device| {
        let ports = format!("{class}/{device}/ports");
        entries(&ports).into_iter().map(move |port| format!("{ports}/{port}/rate"))
    });
    // `400 Gb/sec (4X NDR)`
    let rate =
        |path: String| file(&path)?.split_whitespace().next()?.parse::<f64>().ok().map(|rate| rate as u32);
    let rates = ports.filter_map(rate).collect();
    let variables = ["NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_NET"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), variable(name)?)))
        .collect();
    let infiniband = Infiniband {
        devices,
        mounted: entries("/dev/infiniband").iter().any(|name| name.starts_with("uverbs")),
        library: library::loads("libibverbs.so.1"),
        memlock: rustix::process::getrlimit(rustix::process::Resource::Memlock).current,
        variables,
    };
    (infiniband, rates)
}

fn file(path: &str) -> Option<String> {
    host::file::read(Path::new(path)).ok()?
}

/// The names in a directory, sorted.
fn entries(folder: &str) -> Vec<String> {
    let paths = host::file::entries(Path::new(folder));
    paths.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Id> {
    let mut id = Id([0; ID]);
    let bytes = text.as_bytes();
    if bytes.len() != ID * 2 {
        return None;
    }
    for (target, pair) in id.0.iter_mut().zip(bytes.chunks_exact(2)) {
        *target = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nccl_id_round_trips_as_hex() {
        let mut id = [0_u8; ID];
        for (index, byte) in id.iter_mut().enumerate() {
            *byte = (index * 7 % 256) as u8;
        }
        assert_eq!(unhex(&hex(&id)).unwrap().0, id);
        assert!(unhex("00").is_none() && unhex(&"zz".repeat(ID)).is_none());
    }

    #[test]
    fn reads_version_of_the_own_c_library() {
        let ground = look();
        let own = ground.own.unwrap();
        assert!(own.starts_with("2."), "{own}");
    }
}
