//! Python package indexes: project pages, and the metadata of wheels without the wheels.

use std::io::{self, Read, Seek, SeekFrom};

use serde::Deserialize;

use super::error::Error;
use super::page::{self, DistFile};
use docker::registry::{Client, Get, PAGE_LIMIT_BYTES};

/// One or more indexes; a project is taken from the first that has it.
pub struct Index<'c> {
    pub client: &'c Client,
    /// Addresses of simple indexes.
    pub urls: Vec<String>,
}

/// The most that is read of one wheel's or metadata file's bytes.
const METADATA_MAX: u64 = 4 << 20;
/// The most that is unpacked of a source distribution: its PKG-INFO is near its start.
const UNPACKED_LIMIT_BYTES: u64 = 64 << 20;
/// How much of a wheel's end is read first: its table of contents is there.
const END: u64 = 64 << 10;
/// Range requests for one wheel.
const PIECES: u32 = 12;

impl Index<'_> {
    /// The files of a project; `None` where no index has it.
    pub fn project(&self, name: &str) -> Result<Option<Vec<DistFile>>, Error> {
        let mut failed: Option<Error> = None;
        for index in &self.urls {
            let url = format!("{}/{name}/", index.trim_end_matches('/'));
            let accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.2";
            let answer = self.client.get(&Get {
                url: &url,
                accept,
                range: None,
                authorization: None,
                limit_bytes: PAGE_LIMIT_BYTES,
            });
            match answer {
                Ok(answer) if answer.status == 200 => {
                    let text = String::from_utf8_lossy(&answer.body);
                    let files = match answer.content_type().contains("json") {
                        true => page::from_json(&text, &answer.url),
                        false => Ok(page::from_html(&text, &answer.url)),
                    };
                    return files.map(Some);
                }
                Ok(answer) if answer.status == 404 => {}
                Ok(answer) => failed = Some(Error::Status(answer.status)),
                Err(why) => failed = Some(why.into()),
            }
        }
        match failed {
            Some(why) => Err(why),
            None => Ok(None),
        }
    }

    /// The text of a wheel's METADATA: its own file where the index has one, else read out of the wheel by
    /// ranges.
    pub fn metadata(&self, file: &DistFile) -> Result<String, Error> {
        if file.metadata {
            let url = format!("{}.metadata", file.url);
            let answer = self.client.get(&Get {
                url: &url,
                accept: "*/*",
                range: None,
                authorization: None,
                limit_bytes: METADATA_MAX,
            })?;
            if answer.status == 200 {
                return Ok(String::from_utf8_lossy(&answer.body).into_owned());
            }
        }
        self.metadata_by_ranges(&file.url)
    }

    fn metadata_by_ranges(&self, url: &str) -> Result<String, Error> {
        let range = |range: &str| {
            let answer = self.client.get(&Get {
                url,
                accept: "*/*",
                range: Some(range),
                authorization: None,
                limit_bytes: METADATA_MAX,
            })?;
            match (answer.status, answer.range()) {
                (206, Some(range)) => Ok((range, answer.body)),
                (200 | 206, _) => Err(Error::NoRanges),
                (status, _) => Err(Error::Status(status)),
            }
        };
        let ((start, length), body) = range(&format!("bytes=-{END}"))?;
        let mut wheel = Parts { length, at: 0, parts: vec![(start, body)], missing: None };
        // The table of contents (torch's has more than a MiB) and the file itself may lie outside of what was
        // read: ever larger pieces of it are.
        let mut piece = END;
        for _ in 0..PIECES {
            match read_metadata(&mut wheel) {
                Ok(text) => return Ok(text),
                Err(why) => {
                    let Some(missing) = wheel.missing.take() else { return Err(why) };
                    piece = (piece * 2).min(METADATA_MAX / 4);
                    let end = (missing + piece).min(length) - 1;
                    let ((start, _), body) = range(&format!("bytes={missing}-{end}"))?;
                    if wheel.parts.iter().map(|(_, body)| body.len() as u64).sum::<u64>() > 2 * METADATA_MAX {
                        return Err(Error::TooLarge { limit_bytes: 2 * METADATA_MAX });
                    }
                    wheel.parts.push((start, body));
                }
            }
        }
        Err(Error::TooManyRanges(PIECES))
    }

    /// The text of a source distribution's PKG-INFO, which stands near the start of it: only as much is read
    /// as that takes.
    pub fn source_metadata(&self, file: &DistFile) -> Result<String, Error> {
        let mut size = 256 << 10;
        loop {
            let range = format!("bytes=0-{}", size - 1);
            let get = Get {
                url: &file.url,
                accept: "*/*",
                range: Some(&range),
                authorization: None,
                limit_bytes: size,
            };
            let answer = self.client.get(&get)?;
            let Some((0, whole)) = answer.range().filter(|_| answer.status == 206) else {
                return Err(Error::NoRanges);
            };
            if let Some(text) = package_info(&answer.body) {
                return Ok(text);
            }
            if whole <= size || size >= METADATA_MAX {
                return Err(Error::NoPackageInfo { limit_bytes: METADATA_MAX });
            }
            size = (size * 4).min(METADATA_MAX);
        }
    }

    /// The day of a release from PyPI's own API, for pages of the simple index that lack it; `None`
    /// where it does not answer.
    pub fn day(&self, name: &str, version: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Release {
            urls: Vec<Upload>,
        }
        #[derive(Deserialize)]
        struct Upload {
            upload_time: String,
        }
        let base = self.urls.first()?.trim_end_matches('/').strip_suffix("/simple")?;
        let url = format!("{base}/pypi/{name}/{version}/json");
        let get = Get {
            url: &url,
            accept: "application/json",
            range: None,
            authorization: None,
            limit_bytes: METADATA_MAX,
        };
        let answer = self.client.get(&get).ok().filter(|answer| answer.status == 200)?;
        let release: Release = serde_json::from_slice(&answer.body).ok()?;
        release.urls.iter().filter_map(|upload| page::day(&upload.upload_time)).min()
    }
}

/// The METADATA in a wheel of which some parts are known.
fn read_metadata(wheel: &mut Parts) -> Result<String, Error> {
    let mut archive = zip::ZipArchive::new(&mut *wheel)?;
    let name = archive
        .file_names()
        .filter_map(Result::ok)
        .find(|name| {
            name.split_once('/').is_some_and(|(dir, file)| dir.ends_with(".dist-info") && file == "METADATA")
        })
        .ok_or(Error::NoMetadata)?
        .into_owned();
    let mut text = Vec::new();
    let file = archive.by_name(&name)?;
    file.take(METADATA_MAX).read_to_end(&mut text).map_err(Error::Metadata)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// `NAME-VERSION/PKG-INFO` in the first bytes of a source distribution; `None` where it is not among them.
pub(crate) fn package_info(bytes: &[u8]) -> Option<String> {
    let unpacked = flate2::read::GzDecoder::new(bytes).take(UNPACKED_LIMIT_BYTES);
    let mut archive = tar::Archive::new(unpacked);
    for entry in archive.entries().ok()? {
        let entry = entry.ok()?;
        let path = entry.path().ok()?.to_string_lossy().into_owned();
        if path.trim_start_matches("./").matches('/').count() == 1 && path.ends_with("/PKG-INFO") {
            let mut text = String::new();
            let size = entry.size();
            entry.take(METADATA_MAX).read_to_string(&mut text).ok()?;
            return (text.len() as u64 == size).then_some(text);
        }
    }
    None
}

/// The METADATA of a wheel of this length, of which the bytes at `start` are here.
pub(crate) fn metadata_of_parts(length: u64, start: u64, bytes: &[u8]) -> Option<String> {
    let parts = vec![(start, bytes.to_vec())];
    read_metadata(&mut Parts { length, at: 0, parts, missing: None }).ok()
}

/// A file of which some parts are here. A read elsewhere fails, and says where.
struct Parts {
    length: u64,
    at: u64,
    parts: Vec<(u64, Vec<u8>)>,
    missing: Option<u64>,
}

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.length || buffer.is_empty() {
            return Ok(0);
        }
        for (start, bytes) in &self.parts {
            if self.at.checked_sub(*start).is_some_and(|behind| behind < bytes.len() as u64) {
                let from = usize::try_from(self.at - start).map_err(io::Error::other)?;
                let count = buffer.len().min(bytes.len() - from);
                buffer[..count].copy_from_slice(&bytes[from..from + count]);
                self.at += count as u64;
                return Ok(count);
            }
        }
        self.missing = Some(self.at);
        Err(io::Error::other("this part is not here yet"))
    }
}

impl Seek for Parts {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::other("before the start"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_found_from_parts_of_a_wheel() {
        use std::io::Write;
        let mut whole = io::Cursor::new(Vec::new());
        let mut writer = zip::ZipWriter::new(&mut whole);
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file("x-1.0.dist-info/METADATA", options).unwrap();
        writer.write_all(b"Name: x\nRequires-Dist: torch>=2\n").unwrap();
        let stored = options.compression_method(zip::CompressionMethod::Stored);
        writer.start_file("x/weights", stored).unwrap();
        writer.write_all(&[7; 300_000]).unwrap();
        writer.finish().unwrap();
        let whole = whole.into_inner();
        let length = whole.len();
        let tail = whole[length - 200..].to_vec();
        let mut wheel =
            Parts { length: length as u64, at: 0, parts: vec![((length - 200) as u64, tail)], missing: None };
        let mut pieces = 0;
        let text = loop {
            match read_metadata(&mut wheel) {
                Ok(text) => break text,
                Err(_) => {
                    let missing = usize::try_from(wheel.missing.take().unwrap()).unwrap();
                    wheel.parts.push((missing as u64, whole[missing..(missing + 500).min(length)].to_vec()));
                    pieces += 1;
                }
            }
        };
        assert!((1..=3).contains(&pieces), "{pieces} pieces of 500 bytes out of 300 KB");
        assert!(text.contains("Requires-Dist: torch>=2"), "{text}");
    }
}
