//! Which libraries a shared library asks for, and where it looks for them: the dynamic section of a 64-bit
//! little-endian ELF file (System V ABI, "Dynamic Linking").

use std::io::{Read, Seek, SeekFrom};

/// Why a file has no dynamic section to read.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// It cannot be read, or is shorter than it says.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// Another kind of file.
    #[error("not a 64-bit ELF file")]
    NotElf64,
    /// The program headers lie outside of what can be addressed.
    #[error("the ELF program headers are out of range")]
    HeadersOutOfRange,
    /// The table of strings is not loaded.
    #[error("the ELF string table is in no segment")]
    NoStringTable,
    /// A section that no library has.
    #[error("an ELF section of {0} bytes exceeds the limit")]
    TooLarge(u64),
}

/// What the dynamic section says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// DT_NEEDED: `libnccl.so.2`.
    pub needed: Vec<String>,
    /// DT_RPATH, which goes before `LD_LIBRARY_PATH`, unless there is a RUNPATH.
    pub rpath: Vec<String>,
    /// DT_RUNPATH, which goes after it.
    pub runpath: Vec<String>,
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// No dynamic section and no table of strings is larger: what says so is broken.
const SECTION_LIMIT_BYTES: u64 = 64 << 20;

/// A segment: its type, place in the file, address in memory and length in the file.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    length: u64,
}

/// Reads it; the file may be of any size, only these parts are read.
pub fn dynamic(file: &mut (impl Read + Seek)) -> Result<Dynamic, ElfError> {
    let header = part(file, 0, 64)?;
    if header[..6] != [0x7f, b'E', b'L', b'F', 2, 1] {
        return Err(ElfError::NotElf64);
    }
    let (table, size, count) = (long(&header, 32), u64::from(short(&header, 54)), short(&header, 56));
    let mut segments = Vec::new();
    for number in 0..u64::from(count) {
        let at = table.checked_add(number * size).ok_or(ElfError::HeadersOutOfRange)?;
        let entry = part(file, at, 56)?;
        let kind = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let (offset, address, length) = (long(&entry, 8), long(&entry, 16), long(&entry, 32));
        segments.push(Segment { kind, offset, address, length });
    }
    let Some(found) = segments.iter().find(|segment| segment.kind == PT_DYNAMIC) else {
        return Ok(Dynamic::default());
    };
    let entries = part(file, found.offset, found.length)?;
    let entries: Vec<(u64, u64)> = entries
        .chunks_exact(16)
        .map(|entry| (long(entry, 0), long(entry, 8)))
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let of = |wanted: u64| entries.iter().filter(move |(tag, _)| *tag == wanted).map(|(_, value)| *value);
    let (Some(strings), Some(length)) = (of(DT_STRTAB).next(), of(DT_STRSZ).next()) else {
        return Ok(Dynamic::default());
    };
    let strings = segments
        .iter()
        .filter(|segment| segment.kind == PT_LOAD)
        .find_map(|segment| {
            let within = strings.checked_sub(segment.address).filter(|within| *within < segment.length)?;
            segment.offset.checked_add(within)
        })
        .ok_or(ElfError::NoStringTable)?;
    let strings = part(file, strings, length)?;
    let text = |at: u64| {
        let rest = usize::try_from(at).ok().and_then(|at| strings.get(at..)).unwrap_or_default();
        String::from_utf8_lossy(rest.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    };
    let list = |tag: u64| -> Vec<String> {
        let words = of(tag).flat_map(|at| text(at).split(':').map(str::to_owned).collect::<Vec<_>>());
        words.filter(|word| !word.is_empty()).collect()
    };
    Ok(Dynamic {
        needed: of(DT_NEEDED).map(text).collect(),
        rpath: list(DT_RPATH),
        runpath: list(DT_RUNPATH),
    })
}

fn part(file: &mut (impl Read + Seek), at: u64, length: u64) -> Result<Vec<u8>, ElfError> {
    if length > SECTION_LIMIT_BYTES {
        return Err(ElfError::TooLarge(length));
    }
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the file of the test itself")]
    fn own_executable_needs_libc() {
        let mut file = std::fs::File::open("/proc/self/exe").unwrap();
        let found = dynamic(&mut file).unwrap();
        assert!(found.needed.iter().any(|name| name.starts_with("libc.so")), "{found:?}");
    }

    #[test]
    fn rejects_non_elf_and_corrupt_files() {
        let script = dynamic(&mut Cursor::new(b"#!/bin/sh\n".repeat(20)));
        assert!(matches!(script, Err(ElfError::NotElf64)), "{script:?}");
        assert!(dynamic(&mut Cursor::new(b"\x7fELF")).is_err());
        let mut broken = vec![0xff_u8; 4096];
        broken[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        assert!(dynamic(&mut Cursor::new(broken)).is_err());
    }
}
