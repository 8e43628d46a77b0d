//! The build context: the user's folder and files of envdoc's own as one tar stream, never whole in memory.
#![expect(clippy::disallowed_methods, reason = "the user's files are what is sent")]

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::Stream;
use hyper::body::Bytes;
use tokio::sync::mpsc;

use super::ignore::Ignore;

/// How much is sent at a time, in bytes.
const CHUNK_BYTES: usize = 256 << 10;
/// Time of envdoc's own files, always the same: the second day of 1980, which zip files can hold in every
/// time zone.
const OWN_FILES_MTIME: u64 = 315_619_200;
/// How many chunks may wait for the engine.
const CHUNKS_QUEUED: usize = 8;

/// What is sent to the engine.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The user's folder.
    pub folder: Option<PathBuf>,
    /// Files of envdoc's own, which replace the folder's of the same name.
    pub files: Vec<(String, Vec<u8>)>,
    /// The text that decides what of the folder stays behind; the folder's own .dockerignore where it is
    /// `None`.
    pub ignore: Option<String>,
    /// The Dockerfile's path in the context: it is sent even if .dockerignore excludes it.
    pub dockerfile: String,
}

/// What happened to a context that is or was on its way.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    bytes: u64,
    failed: Option<String>,
}

impl Sent {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Why it could not be read whole.
    pub fn failed(&self) -> Option<String> {
        self.lock().failed.clone()
    }
}

impl Context {
    /// The tar stream, made by a thread of its own that waits for its reader.
    pub fn stream(self) -> (impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static, Sent) {
        let (sender, receiver) = mpsc::channel(CHUNKS_QUEUED);
        let sent = Sent::default();
        let state = sent.clone();
        std::thread::spawn(move || {
            let pipe = Pipe { sender, buffer: Vec::with_capacity(CHUNK_BYTES), state: state.clone() };
            let mut archive = tar::Builder::new(pipe);
            archive.mode(tar::HeaderMode::Complete);
            archive.follow_symlinks(false);
            let written = self.write(&mut archive);
            let failed = written.and_then(|()| archive.finish()).err();
            let Ok(mut pipe) = archive.into_inner() else { return };
            match failed {
                None => drop(pipe.flush()),
                // The engine is gone or has heard enough: it says itself why.
                Some(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Some(error) => {
                    state.lock().failed = Some(error.to_string());
                    let _ = pipe.sender.blocking_send(Err(error));
                }
            }
        });
        let stream = futures_util::stream::unfold(receiver, |mut receiver| async {
            receiver.recv().await.map(|chunk| (chunk, receiver))
        });
        (stream, sent)
    }

    fn write(&self, archive: &mut tar::Builder<impl Write>) -> io::Result<()> {
        for (name, bytes) in &self.files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(OWN_FILES_MTIME);
            archive.append_data(&mut header, name, bytes.as_slice())?;
        }
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(".dockerignore");
        let text = match &self.ignore {
            Some(text) => text.clone(),
            None => match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                Err(error) => return Err(about(&path, &error)),
            },
        };
        let ignore = Ignore::parse(&text).map_err(io::Error::other)?;
        self.walk(archive, &ignore, folder, "")
    }

    fn walk(
        &self,
        archive: &mut tar::Builder<impl Write>,
        ignore: &Ignore,
        folder: &Path,
        within: &str,
    ) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(|error| about(folder, &error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let file_name = entry.file_name();
            let Some(name) = file_name.to_str() else {
                return Err(io::Error::other(format!("file name is not UTF-8: {}", entry.path().display())));
            };
            let name = if within.is_empty() { name.to_owned() } else { format!("{within}/{name}") };
            if self.files.iter().any(|(own, _)| *own == name) {
                continue;
            }
            let path = entry.path();
            let metadata = entry.metadata().map_err(|error| about(&path, &error))?;
            let wanted = !ignore.excludes(&name) || name == self.dockerfile;
            if metadata.is_dir() {
                if wanted {
                    append(archive, &path, &name, &metadata)?;
                }
                let of_dockerfile = self.dockerfile.starts_with(&format!("{name}/"));
                if wanted || of_dockerfile || !ignore.excludes_all_below(&name) {
                    self.walk(archive, ignore, &path, &name)?;
                }
            } else if wanted {
                append(archive, &path, &name, &metadata)?;
            }
        }
        Ok(())
    }
}

/// One file, folder or link: owned by root as `docker build` sends it, with its rights and time.
fn append(
    archive: &mut tar::Builder<impl Write>,
    path: &Path,
    name: &str,
    metadata: &fs::Metadata,
) -> io::Result<()> {
    let kind = metadata.file_type();
    // Programs next to the build leave these behind; they mean nothing in an image.
    if kind.is_socket() || kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
        return Ok(());
    }
    let mut header = tar::Header::new_gnu();
    header.set_metadata(metadata);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mode(metadata.permissions().mode() & 0o7777);
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
    if kind.is_symlink() {
        let target = fs::read_link(path).map_err(|error| about(path, &error))?;
        header.set_size(0);
        return archive.append_link(&mut header, name, target);
    }
    if kind.is_dir() {
        header.set_size(0);
        return archive.append_data(&mut header, format!("{name}/"), io::empty());
    }
    let file = fs::File::open(path).map_err(|error| about(path, &error))?;
    let size = metadata.len();
    header.set_size(size);
    // A file that grows meanwhile is cut at the size that was announced; one that shrinks breaks the archive.
    let mut reader = io::Read::take(file, size);
    archive.append_data(&mut header, name, &mut reader).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => error,
        _ => about(path, &error),
    })?;
    match reader.limit() {
        0 => Ok(()),
        _ => Err(about(path, &io::Error::other("the file shrank while it was sent"))),
    }
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The end of the stream that is written to.
struct Pipe {
    sender: mpsc::Sender<Result<Bytes, io::Error>>,
    buffer: Vec<u8>,
    state: Sent,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_BYTES));
        self.state.lock().bytes += chunk.len() as u64;
        self.sender.blocking_send(Ok(chunk.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::TryStreamExt;
    use std::io::Read;

    fn names(context: Context) -> io::Result<Vec<(String, String)>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (stream, sent) = context.stream();
        let chunks = runtime.block_on(stream.try_collect::<Vec<Bytes>>())?;
        let bytes = chunks.concat();
        assert_eq!(bytes.len() as u64, sent.bytes());
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entry = |entry: io::Result<tar::Entry<'_, &[u8]>>| {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            if let Some(target) = entry.link_name().unwrap() {
                text = format!("-> {}", target.display());
            }
            assert_eq!(entry.header().uid().unwrap(), 0);
            (entry.path().unwrap().display().to_string(), text)
        };
        Ok(archive.entries().unwrap().map(entry).collect())
    }

    #[test]
    fn files_folders_and_links_without_what_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".dockerignore", "**\n!src\n**/*.pyc\n");
        write("Dockerfile", "FROM x");
        write("src/main.py", "print()");
        write("src/main.pyc", "");
        write("data/big", "x");
        std::os::unix::fs::symlink("/nowhere", dir.path().join("src/link")).unwrap();
        let context = Context {
            folder: Some(dir.path().to_owned()),
            files: vec![("requirements.txt".into(), b"torch".to_vec())],
            dockerfile: "Dockerfile".into(),
            ignore: None,
        };
        let expected = [
            ("requirements.txt", "torch"),
            ("Dockerfile", "FROM x"),
            ("src/", ""),
            ("src/link", "-> /nowhere"),
            ("src/main.py", "print()"),
        ];
        let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(names(context).unwrap(), expected);
    }

    #[test]
    fn a_folder_that_is_not_there_and_a_broken_dockerignore_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let none = Context { folder: Some(dir.path().join("none")), ..Context::default() };
        assert!(names(none).unwrap_err().to_string().contains("none"));
        fs::write(dir.path().join(".dockerignore"), "[a").unwrap();
        let broken = Context { folder: Some(dir.path().to_owned()), ..Context::default() };
        assert!(names(broken).unwrap_err().to_string().contains("[a"));
    }
}
