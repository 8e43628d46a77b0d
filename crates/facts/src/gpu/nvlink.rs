//! What `nvidia-smi nvlink -s` prints.

use std::collections::BTreeMap;

use crate::Fact;

/// The links of each GPU, by its index.
///
/// ```text
/// GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)
/// \t Link 0: 26.562 GB/s
/// \t Link 1: <inactive>
/// ```
pub fn links(text: &str) -> BTreeMap<u32, Fact<Vec<Option<f32>>>> {
    let mut gpus: BTreeMap<u32, Fact<Vec<Option<f32>>>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(index) =
            line.strip_prefix("GPU ").and_then(|rest| rest.split(':').next()?.parse::<u32>().ok())
        {
            gpus.insert(index, Fact::unknown("nvidia-smi nvlink -s shows no link of this GPU"));
            current = Some(index);
            continue;
        }
        let Some(state) = current.and_then(|index| gpus.get_mut(&index)) else { continue };
        *state = match (link(line), std::mem::replace(state, Fact::Absent)) {
            (Some(link), Fact::Known(mut links)) => {
                links.push(link);
                Fact::Known(links)
            }
            (Some(link), _) => Fact::Known(vec![link]),
            (None, Fact::Known(links)) => Fact::Known(links),
            (None, _) => sentence(line),
        };
    }
    gpus
}

/// `Link 0: 26.562 GB/s`, `Link 1: <inactive>`.
fn link(line: &str) -> Option<Option<f32>> {
    let state = line.strip_prefix("Link ")?.split_once(':')?.1.trim();
    if state.trim_matches(['<', '>']).eq_ignore_ascii_case("inactive") {
        return Some(None);
    }
    state.strip_suffix("GB/s")?.trim().parse().ok().map(Some)
}

/// Sentences printed instead of links.
fn sentence(line: &str) -> Fact<Vec<Option<f32>>> {
    let lower = line.to_ascii_lowercase();
    if lower.contains("all links are inactive") {
        Fact::Known(Vec::new())
    } else if lower.contains("does not have or support nvlink") {
        Fact::Absent
    } else {
        Fact::unknown(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of links and their rate, or the state without them.
    type First = Result<(usize, f32), Fact<()>>;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn every_nvlink_output_of_the_corpus_is_read() {
        // File, then number of GPUs, then of the first GPU: links and their rate, or how it reads.
        let expected: &[(&str, usize, First)] = &[
            ("a100-sxm4", 8, Ok((12, 25.0))),
            ("b300-x7", 7, Ok((18, 53.125))),
            ("good-links", 1, Ok((12, 25.0))),
            (
                "h100-mig-590.48.01",
                1,
                Err(Fact::unknown("Nvlink queries are not supported for Devices in MIG mode")),
            ),
            ("h100-sxm-590.48.01", 1, Ok((18, 26.562))),
            ("h200-590.48.01", 1, Ok((18, 26.562))),
            (
                "h200-mig-590.48.01",
                1,
                Err(Fact::unknown("Nvlink queries are not supported for Devices in MIG mode")),
            ),
            ("inactive-links", 1, Err(Fact::Known(()))),
            ("l40s-595.80", 1, Err(Fact::Absent)),
            ("rtx2080super-595.71.05", 1, Err(Fact::Known(()))),
            ("rtx2080super-610.57.04", 1, Err(Fact::Known(()))),
            ("rtx4080super-595.71.05", 1, Err(Fact::Absent)),
        ];
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/nvidia_smi_misc");
        let files =
            std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        assert_eq!(files.filter(|file| file.starts_with("nvlink-s-")).count(), expected.len());
        for (file, count, first) in expected {
            let reported = links(&std::fs::read_to_string(format!("{dir}/nvlink-s-{file}.txt")).unwrap());
            assert_eq!(reported.len(), *count, "{file}");
            let links = reported.values().next().unwrap().clone();
            match first {
                Ok((number, rate)) => assert_eq!(links, Fact::Known(vec![Some(*rate); *number]), "{file}"),
                Err(state) => {
                    assert!(links.known().is_none_or(Vec::is_empty), "{file}");
                    assert_eq!(links.map(|_| ()), *state, "{file}");
                }
            }
        }
    }

    #[test]
    fn distinguishes_inactive_from_active_links() {
        let text =
            "GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n";
        assert_eq!(links(text)[&3], Fact::Known(vec![Some(26.562), None]));
        assert_eq!(links("").len(), 0);
    }
}
