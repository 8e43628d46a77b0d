//! What is opened to be read: files that end, and nothing whose opening or reading waits for ever.

use std::fs;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::standard_pipes;

/// Opens a file whose whole text is wanted. A named pipe waits for a writer that may never come, and a device
/// may have no end.
pub(super) fn whole(path: &Path) -> io::Result<fs::File> {
    judge(path, &fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    // Another file may be there by now.
    judge(path, &file.metadata()?)?;
    // Files of the kernel such as /proc/kmsg wait for more at their end; a file of a disk never waits.
    if is_open_already(path) {
        rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    }
    Ok(file)
}

/// Where a process finds what it has open already: standard input, `<(command)` of a shell.
const OPEN_ALREADY: &[&str] = &["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Not while standard input and output are a connection: it is open too, under numbers that a path can name.
fn is_open_already(path: &Path) -> bool {
    !standard_pipes::are_taken() && OPEN_ALREADY.iter().any(|known| path.starts_with(known))
}

fn judge(path: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let what = match () {
        () if kind.is_socket() => "socket",
        () if is_open_already(path) => return Ok(()),
        () if kind.is_fifo() => "named pipe",
        () if kind.is_block_device() => "device",
        () if kind.is_char_device() && metadata.rdev() != NULL_DEVICE => "device",
        () => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is a {what}, not a file")))
}

/// A file that the user named and that has an end. Reading one that would wait for more is an error
/// ([`io::ErrorKind::WouldBlock`]).
pub fn open_ending(path: &Path) -> io::Result<fs::File> {
    ending(whole(path)?)
}

/// Standard input, where it has an end.
pub fn standard_ending() -> io::Result<io::StdinLock<'static>> {
    ending(fs::File::from(io::stdin().as_fd().try_clone_to_owned()?))?;
    Ok(io::stdin().lock())
}

/// A device such as /dev/zero has none; what is typed and what comes through a pipe has.
fn ending(file: fs::File) -> io::Result<fs::File> {
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let endless = kind.is_char_device() && !file.is_terminal() && metadata.rdev() != NULL_DEVICE;
    match endless || kind.is_block_device() {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device, not a file")),
        false => Ok(file),
    }
}

/// Numbers of /dev/null, major 1 and minor 3: a device that ends at once.
const NULL_DEVICE: u64 = 0x103;

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn a_file_that_waits_for_more_is_an_error() {
        // Readable for root alone, and empty of news where a logger reads it too.
        if let Ok(file) = open_ending(Path::new("/proc/kmsg")) {
            let read = std::io::copy(&mut io::Read::take(file, 1 << 24), &mut io::sink());
            assert!(read.is_ok() || read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock));
        }
        assert_eq!(text_of(Path::new("/proc/self/comm")).unwrap().lines().count(), 1);
    }

    /// Without a writer, opening a named pipe waits for one.
    #[test]
    fn named_pipes_and_sockets_are_refused_and_open_pipes_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("x.env");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        for read in [text_of(&pipe), text_up_to(&pipe, 9), open_ending(&pipe).map(|_| String::new())] {
            assert_eq!(read.unwrap_err().to_string(), "it is a named pipe, not a file");
        }
        assert!(read_bytes(&pipe).is_err() && read(&pipe).is_err() && read_private(&pipe).is_err());
        let socket = folder.path().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(text_of(&socket).unwrap_err().to_string(), "it is a socket, not a file");
        // `<(echo a)`
        let (reader, mut writer) = std::io::pipe().unwrap();
        let writing = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            std::io::Write::write_all(&mut writer, b"a").unwrap();
        });
        let number = std::os::fd::AsRawFd::as_raw_fd(&reader);
        assert_eq!(text_of(Path::new(&format!("/dev/fd/{number}"))).unwrap(), "a");
        writing.join().unwrap();
    }
}
