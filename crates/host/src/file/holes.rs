//! Files with holes: parts that were never written, which read as NUL bytes and take no room on the disk.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::rc::Rc;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// A file without its holes.
pub struct WithoutHoles {
    file: File,
    /// So many bytes from here on are no hole.
    data: u64,
    skipped: Rc<Cell<u64>>,
    /// Whether its file system tells where holes are.
    known: bool,
}

/// A file without its holes, from where it is read now, and how many bytes of holes were skipped so far. The
/// holes of a file system that does not tell them are read.
pub fn without_holes(file: File) -> (WithoutHoles, Rc<Cell<u64>>) {
    let skipped = Rc::default();
    (WithoutHoles { file, data: 0, skipped: Rc::clone(&skipped), known: true }, skipped)
}

impl WithoutHoles {
    /// Goes on behind a hole, if there is one here.
    fn skip(&mut self) -> Result<(), Errno> {
        let from = seek(&self.file, SeekFrom::Current(0))?;
        let start = match seek(&self.file, SeekFrom::Data(from)) {
            // There is nothing but a hole up to the end.
            Err(Errno::NXIO) => seek(&self.file, SeekFrom::End(0))?.max(from),
            other => other?,
        };
        let end = match seek(&self.file, SeekFrom::Hole(start)) {
            // The end: what is appended meanwhile is read too.
            Err(Errno::NXIO) => start,
            other => other?,
        };
        seek(&self.file, SeekFrom::Start(start))?;
        self.skipped.set(self.skipped.get() + (start - from));
        self.data = end - start;
        Ok(())
    }
}

impl io::Read for WithoutHoles {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.known && self.data == 0 && self.skip().is_err() {
            // A pipe, a file of /proc.
            self.known = false;
        }
        let room = match self.known && self.data > 0 {
            true => buffer.len().min(usize::try_from(self.data).unwrap_or(usize::MAX)),
            false => buffer.len(),
        };
        let count = self.file.read(&mut buffer[..room])?;
        self.data = self.data.saturating_sub(count as u64);
        Ok(count)
    }
}
