//! Running a program under a deadline, with bounded output, and without being held by what it leaves behind.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process_group};

use super::{Missing, MissingKind, Reading, file, program};
use diagnostic::units::memory;

/// The most that is kept of a program's output, in bytes; more than that is refused, not cut.
const OUTPUT_MAX: usize = 16 << 20;

/// Runs `argv` (no shell, no input, `LC_ALL=C`) until `deadline` and kills its process group then.
pub fn run(argv: &[&str], deadline: Instant) -> Reading {
    run_with_input(argv, "", deadline)
}

/// [`run`] with some bytes of input (fewer than a pipe holds, 4 KiB).
pub fn run_with_input(argv: &[&str], input: &str, deadline: Instant) -> Reading {
    let [program, arguments @ ..] = argv else {
        return Reading::failed("no program was named");
    };
    let Ok(command) = program::command(program) else { return Reading::Absent };
    execute(command, (program, arguments), input, deadline)
}

/// [`run_with_input`] in a directory, to which a program with a slash in its name is relative.
pub fn run_in(directory: &Path, argv: &[&str], input: &str, deadline: Instant) -> Reading {
    let [program, arguments @ ..] = argv else {
        return Reading::failed("no program was named");
    };
    let Ok(command) = program::command_in(directory, program) else { return Reading::Absent };
    execute(command, (program, arguments), input, deadline)
}

fn execute(
    mut command: Command,
    (program, arguments): (&str, &[&str]),
    input: &str,
    deadline: Instant,
) -> Reading {
    let started = Instant::now();
    command.args(arguments).env("LC_ALL", "C").process_group(0);
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match spawn(&mut command, deadline) {
        Ok(child) => child,
        // The system says the same of a program whose interpreter or loader is missing (glibc's in a
        // container of musl).
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound
                && file::exists(Path::new(command.get_program())) =>
        {
            return Reading::failed(format!("{program} is there, but the loader that it needs is not"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Reading::Absent,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let detail = format!("{}: {program} may not be run", Missing::denied());
            return Reading::Failed(Missing::new(MissingKind::Denied, detail));
        }
        Err(error) => return Reading::failed(format!("{program} could not be started: {error}")),
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input says itself what is wrong.
        let _ = stdin.write_all(input.as_bytes());
    }
    let reading = collect(&mut child, program, deadline, started);
    if matches!(reading, Reading::Failed(_)) {
        end(&mut child);
    }
    running().groups.retain(|&group| Some(group) != group_of(&child));
    reading
}

/// The programs that run now, by process group, so that none outlives envdoc.
struct Running {
    groups: Vec<Pid>,
    folders: Vec<(PathBuf, Option<File>)>,
    closed: bool,
}

fn running() -> MutexGuard<'static, Running> {
    static RUNNING: Mutex<Running> =
        Mutex::new(Running { groups: Vec::new(), folders: Vec::new(), closed: false });
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn group_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Starts a program, unless it is too late for that: what would start now would not be waited for.
fn spawn(command: &mut Command, deadline: Instant) -> std::io::Result<Child> {
    let mut running = running();
    if running.closed || Instant::now() >= deadline {
        return Err(std::io::Error::other("envdoc's time was up (--timeout)"));
    }
    let child = command.spawn()?;
    running.groups.extend(group_of(&child));
    Ok(child)
}

/// Kills what still runs, and lets nothing start any more: for the end of envdoc, which must not wait for a
/// thread that does.
#[expect(clippy::disallowed_methods, reason = "folders of envdoc's own")]
pub fn end_all() {
    let mut running = running();
    running.closed = true;
    for group in running.groups.drain(..) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    for (folder, _) in running.folders.drain(..) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// The file of the program that is running.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for it")]
pub fn own_program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// Starts a program that runs in the background until [`stop`], or until envdoc ends.
pub fn start(command: &mut Command, deadline: Instant) -> std::io::Result<Child> {
    spawn(command.process_group(0), deadline)
}

/// Ends a program of [`start`].
pub fn stop(child: &mut Child) {
    end(child);
    running().groups.retain(|&group| Some(group) != group_of(child));
}

/// A folder of envdoc's own to be removed when envdoc ends. One whose envdoc was killed is left to
/// [`remove_stale`]: the kernel lets go of its lock.
pub fn remove_at_end(folder: &Path) {
    let owner = lock(&folder.join(OWNER), true);
    running().folders.push((folder.to_owned(), owner));
}

/// Removes a folder of [`remove_at_end`].
#[expect(clippy::disallowed_methods, reason = "a folder of envdoc's own")]
pub fn remove_now(folder: &Path) {
    running().folders.retain(|(kept, _)| kept != folder);
    let _ = std::fs::remove_dir_all(folder);
}

/// The file in a folder of [`remove_at_end`] that is locked as long as its envdoc runs, in whichever
/// container.
const OWNER: &str = "owner";
/// Younger folders are kept: their envdoc may be about to lock them.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// Removes this user's folders of [`remove_at_end`] below `parent` whose envdoc was killed. `prefix`: how
/// their names begin.
#[expect(clippy::disallowed_methods, reason = "folders of envdoc's own")]
pub fn remove_stale(parent: &Path, prefix: &str) {
    let own = rustix::process::getuid().as_raw();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let stale = entry.file_name().to_string_lossy().starts_with(prefix)
            && entry.metadata().is_ok_and(|found| {
                let age = found.modified().ok().and_then(|modified| modified.elapsed().ok());
                found.is_dir() && found.uid() == own && age.is_some_and(|age| age > STALE_AFTER)
            });
        if stale && lock(&path.join(OWNER), false).is_some() {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// The file, locked; `None` where another process has it, or it is missing and not to be made.
#[expect(clippy::disallowed_methods, reason = "a file of envdoc's own")]
fn lock(path: &Path, make: bool) -> Option<File> {
    let file = File::options().write(true).create(make).open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

fn collect(child: &mut Child, program: &str, deadline: Instant, started: Instant) -> Reading {
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return Reading::failed(format!("{program} gave no pipes"));
    };
    for pipe in [out.as_fd(), err.as_fd()] {
        if let Err(error) = rustix::io::ioctl_fionbio(pipe, true) {
            return Reading::failed(format!("the pipe of {program} could not be set up: {error}"));
        }
    }
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (mut out_open, mut err_open) = (true, true);
    let mut ended = None;
    while out_open || err_open {
        if stdout.len() + stderr.len() > OUTPUT_MAX {
            return Reading::failed(format!("{program} printed more than {}", memory(OUTPUT_MAX as u64)));
        }
        let now = Instant::now();
        if now >= deadline {
            let waited = started.elapsed();
            let detail =
                format!("`{program}` did not answer within {:.1} s and was stopped", waited.as_secs_f32());
            let milliseconds = u64::try_from(waited.as_millis()).ok();
            return Reading::Failed(Missing::new(MissingKind::TimedOut { milliseconds }, detail));
        }
        // What the program left running may hold the pipe open for ever: once the program itself has
        // ended, only what is there already is taken.
        let wait =
            if ended.is_some() { Duration::ZERO } else { (deadline - now).min(Duration::from_millis(20)) };
        let readable = wait_readable(&out, out_open, &err, err_open, wait);
        if readable.0 {
            out_open = take(&mut out, &mut stdout);
        }
        if readable.1 {
            err_open = take(&mut err, &mut stderr);
        }
        if ended.is_some() && !readable.0 && !readable.1 {
            break;
        }
        if ended.is_none() {
            ended = child.try_wait().ok().flatten();
        }
    }
    while ended.is_none() {
        if Instant::now() >= deadline {
            return Reading::failed(format!("`{program}` closed its output but did not end"));
        }
        std::thread::sleep(Duration::from_micros(200));
        ended = child.try_wait().ok().flatten();
    }
    Reading::Ran {
        status: ended.and_then(|status| status.code()),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

fn wait_readable(
    out: &impl AsFd,
    out_open: bool,
    err: &impl AsFd,
    err_open: bool,
    wait: Duration,
) -> (bool, bool) {
    let flags = |open| if open { PollFlags::IN } else { PollFlags::empty() };
    let mut fds = [PollFd::new(out, flags(out_open)), PollFd::new(err, flags(err_open))];
    let timeout = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    if poll(&mut fds, Some(&timeout)).is_err() {
        return (false, false);
    }
    let ready = |fd: &PollFd<'_>, open| {
        open && fd.revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
    };
    (ready(&fds[0], out_open), ready(&fds[1], err_open))
}

/// Takes one chunk; false when the pipe is at its end.
fn take(pipe: &mut impl Read, into: &mut Vec<u8>) -> bool {
    let mut chunk = [0; 64 << 10];
    match pipe.read(&mut chunk) {
        Ok(0) => false,
        Ok(count) => {
            into.extend_from_slice(&chunk[..count]);
            true
        }
        Err(error) => {
            matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted)
        }
    }
}

/// Kills the program and its children. A process in uninterruptible sleep cannot be reaped and is left to
/// init.
fn end(child: &mut Child) {
    if let Some(group) = group_of(child) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    for _ in 0..20 {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test prepares its folders")]
    fn a_folder_is_stale_when_nothing_holds_its_lock() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = parent.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let (held, killed, fresh) = (folder("envdoc-held"), folder("envdoc-killed"), folder("envdoc-fresh"));
        let (foreign, other) = (folder("envdoc-foreign"), folder("other"));
        remove_at_end(&held);
        for path in [&killed, &fresh, &other] {
            drop(lock(&path.join(OWNER), true).unwrap());
        }
        let old = std::time::SystemTime::now() - STALE_AFTER * 2;
        for path in [&held, &killed, &foreign, &other] {
            File::open(path).unwrap().set_modified(old).unwrap();
        }
        remove_stale(parent.path(), "envdoc-");
        let left = |path: &Path| path.is_dir();
        assert!(left(&held) && left(&fresh) && left(&foreign) && left(&other) && !left(&killed));
        remove_now(&held);
    }

    fn within(argv: &[&str], milliseconds: u64) -> Reading {
        let limit = Duration::from_millis(milliseconds);
        run(argv, Instant::now() + limit)
    }

    #[test]
    fn status_and_both_outputs_are_kept() {
        let reading = within(&["sh", "-c", "echo out; echo err >&2; exit 3"], 5000);
        let expected = Reading::Ran { status: Some(3), stdout: "out\n".into(), stderr: "err\n".into() };
        assert_eq!(reading, expected);
    }

    #[test]
    fn input_arrives_and_ends() {
        let reading = run_with_input(&["cat"], "registry", Instant::now() + Duration::from_secs(5));
        assert!(matches!(&reading, Reading::Ran { stdout, .. } if stdout == "registry"), "{reading:?}");
    }

    #[test]
    fn a_missing_program_is_absent() {
        assert_eq!(within(&["envdoc-no-such-program"], 1000), Reading::Absent);
    }

    #[test]
    fn a_program_without_its_loader_is_not_absent() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nvidia-smi");
        #[expect(clippy::disallowed_methods, reason = "a test prepares its files")]
        std::fs::write(&path, "#!/no/such/loader\n").unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test prepares its files")]
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let reading = within(&[&path.to_string_lossy()], 1000);
        assert!(matches!(&reading, Reading::Failed(why) if why.detail.contains("loader")), "{reading:?}");
    }

    #[test]
    fn a_hanging_program_is_stopped_with_its_children() {
        let started = Instant::now();
        let reading = within(&["sh", "-c", "sleep 77 & sleep 77"], 200);
        assert!(
            matches!(&reading, Reading::Failed(why) if why.detail.contains("did not answer within 0.2 s")),
            "{reading:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a_program_that_leaves_a_child_behind_does_not_hold_envdoc() {
        let started = Instant::now();
        let reading = within(&["sh", "-c", "echo done; sleep 5 & exit 0"], 4000);
        assert!(
            matches!(&reading, Reading::Ran { status: Some(0), stdout, .. } if stdout == "done\n"),
            "{reading:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn endless_output_is_refused() {
        let reading = within(&["sh", "-c", "yes envdoc"], 20_000);
        assert!(
            matches!(&reading, Reading::Failed(why) if why.detail.contains("printed more than 16 MiB")),
            "{reading:?}"
        );
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let reading = within(&["printf", "a\\377b"], 5000);
        assert!(matches!(&reading, Reading::Ran { stdout, .. } if stdout == "a\u{fffd}b"), "{reading:?}");
    }
}
