//! What `nvidia-smi -q -x` prints: an XML document whose elements come and go with the driver's branch.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

use super::{Gpu, RemappedRows};
use crate::Fact;
use crate::IntoFact;
use crate::driver::DriverVersion;
use host::Reading;

/// The exit status with which `nvidia-smi` prints everything and warns that an infoROM is corrupted.
const CORRUPTED_INFOROM: i32 = 14;

/// A whole answer of `nvidia-smi -q -x`.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `driver_version`; from 610 on `kmd_version`.
    pub driver: Fact<DriverVersion>,
    /// `cuda_version`; from 610 on `cuda_umd_version`.
    pub cuda: Fact<String>,
    /// `attached_gpus`.
    pub attached: Fact<u32>,
    /// The GPUs, in the driver's order.
    pub gpus: Vec<Gpu>,
    /// Lines next to the XML.
    pub warnings: Vec<String>,
}

/// Reads an answer; any other end than a whole one is unknown, with what was said.
pub fn answer(reading: Reading) -> Fact<Answer> {
    let Reading::Ran { status, stdout, stderr } = &reading else {
        return reading.stdout().and_then(|_| Fact::Absent);
    };
    let Some((before, xml, after)) = document(*status, stdout) else {
        return match reading.stdout() {
            Fact::Known(text) => Fact::unknown(format!("it printed no XML but: {}", excerpt(&text))),
            other => other.and_then(|_| Fact::Absent),
        };
    };
    let other_lines = before.lines().chain(after.lines()).chain(stderr.lines());
    let warnings = other_lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    parse(xml).map(|answer| Answer { warnings, ..answer })
}

/// What stands before the document, the document, and what stands behind it; none where there is no whole
/// one, or where the exit status says that it is not the whole truth.
pub(super) fn document(status: Option<i32>, stdout: &str) -> Option<(&str, &str, &str)> {
    const END: &str = "</nvidia_smi_log>";
    if !matches!(status, Some(0 | CORRUPTED_INFOROM)) {
        return None;
    }
    let start = stdout.find("<?xml").or_else(|| stdout.find("<nvidia_smi_log"))?;
    let end = stdout.rfind(END)? + END.len();
    Some((&stdout[..start], stdout.get(start..end)?, &stdout[end..]))
}

fn excerpt(text: &str) -> String {
    text.trim().chars().take(300).collect()
}

pub(super) fn parse(xml: &str) -> Fact<Answer> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(xml, options) {
        Ok(document) => document,
        Err(error) => return Fact::unknown(format!("its XML cannot be read: {error}")),
    };
    let log = document.root_element();
    let driver = text(log, "kmd_version").or_else(|| text(log, "driver_version"));
    let cuda = text(log, "cuda_umd_version").or_else(|| text(log, "cuda_version"));
    let gpus: Vec<Gpu> = log
        .children()
        .filter(|node| node.has_tag_name("gpu"))
        .zip(0..)
        .map(|(node, index)| gpu(node, index))
        .collect();
    Fact::Known(Answer {
        // `610.57.04 [Deprecated; will be removed in CUDA 14.0. …]` in the text output of 610.
        driver: driver.and_then(|text| match first_word(&text).parse::<DriverVersion>() {
            Ok(version) => Fact::Known(version),
            Err(error) => Fact::unknown(error.to_string()),
        }),
        cuda: cuda.map(|text| first_word(&text).to_owned()),
        attached: number(log, "attached_gpus"),
        gpus,
        warnings: Vec::new(),
    })
}

fn gpu(node: Node<'_, '_>, index: u32) -> Gpu {
    let id = node.attribute("id").unwrap_or_default();
    Gpu {
        index,
        address: address(text(node, "pci/pci_bus_id").known().map_or(id, String::as_str)),
        uuid: text(node, "uuid").known().cloned().unwrap_or_default(),
        name: text(node, "product_name").known().cloned().unwrap_or_default(),
        brand: text(node, "product_brand"),
        architecture: text(node, "product_architecture"),
        compute_capability: Fact::Absent,
        memory_total: number(node, "fb_memory_usage/total"),
        memory_used: number(node, "fb_memory_usage/used"),
        persistence: switch(node, "persistence_mode"),
        mig: both(switch(node, "mig_mode/current_mig"), switch(node, "mig_mode/pending_mig")),
        ecc: both(switch(node, "ecc_mode/current_ecc"), switch(node, "ecc_mode/pending_ecc")),
        ecc_uncorrected: both(uncorrected(node, "volatile"), uncorrected(node, "aggregate")),
        remapped_rows: remapped_rows(node),
        retired_pages_pending: switch(node, "retired_pages/pending_retirement")
            .or_else(|| switch(node, "retired_pages/pending_blacklist")),
        throttling: throttling(node),
        temperature: number(node, "temperature/gpu_temp"),
        pcie_generation: both(
            number(node, "pci/pci_gpu_link_info/pcie_gen/current_link_gen"),
            number(node, "pci/pci_gpu_link_info/pcie_gen/max_link_gen"),
        ),
        pcie_width: both(
            number(node, "pci/pci_gpu_link_info/link_widths/current_link_width"),
            number(node, "pci/pci_gpu_link_info/link_widths/max_link_width"),
        ),
        performance_state: text(node, "performance_state"),
        utilization: number(node, "utilization/gpu_util"),
        fabric: fabric(node),
        nvlinks: Fact::Absent,
        virtualization: text(node, "gpu_virtualization_mode/virtualization_mode"),
        recovery_action: recovery_action(node),
        compute_mode: text(node, "compute_mode").map(|word| word.as_str().into()),
        display: switch(node, "display_active"),
        module: number(node, "platformInfo/module_id").or_else(|| number(node, "gpu_module_id")),
        pci_device: text(node, "pci/pci_device_id").and_then(|id| device_id(&id)),
        sram_threshold_exceeded: switch(node, "ecc_errors/aggregate/sram_threshold_exceeded"),
    }
}

/// `00000000:0B:00.0` as sysfs writes it: `0000:0b:00.0`.
pub(super) fn address(text: &str) -> String {
    let text = text.trim().to_ascii_lowercase();
    match text.split_once(':') {
        Some((domain, rest)) => match u32::from_str_radix(domain, 16) {
            Ok(domain) => format!("{domain:04x}:{rest}"),
            Err(_) => text,
        },
        None => text,
    }
}

/// `233010DE`: device, then vendor. `000000DE` on Amazon's G5 is no id.
fn device_id(text: &str) -> Fact<u16> {
    match text.strip_suffix("10DE").map(|id| u16::from_str_radix(id, 16)) {
        Some(Ok(id)) => Fact::Known(id),
        _ => Fact::unknown(format!("{text:?} is not a PCI id of NVIDIA")),
    }
}

fn element<'a, 'input>(node: Node<'a, 'input>, path: &str) -> Option<Node<'a, 'input>> {
    path.split('/').try_fold(node, |node, name| node.children().find(|child| child.has_tag_name(name)))
}

/// The text of an element. What the driver does not report is absent; what it could not find out is unknown.
fn text(node: Node<'_, '_>, path: &str) -> Fact<String> {
    const NOT_REPORTED: &[&str] =
        &["", "N/A", "Not Supported", "Requested functionality has been deprecated", "Not Applicable"];
    const FAILED: &[&str] = &[
        "Unknown Error",
        "ERR!",
        "Error",
        "GPU requires reset",
        "GPU is lost",
        "Insufficient Permissions",
        "Insufficient Power",
        "Function Not Found",
        "Not Found",
        "No data",
        "Timeout",
        "Unknown",
    ];
    let Some(element) = element(node, path) else { return Fact::Absent };
    let text = element.text().unwrap_or_default().trim();
    let bare = text.trim_start_matches('[').trim_end_matches(']').trim();
    if NOT_REPORTED.iter().any(|word| bare.eq_ignore_ascii_case(word)) {
        Fact::Absent
    } else if FAILED.iter().any(|word| bare.eq_ignore_ascii_case(word)) || bare == "REDACTED" {
        Fact::unknown(format!("nvidia-smi says {bare:?} for {}", path.rsplit('/').next().unwrap_or(path)))
    } else {
        Fact::Known(text.to_owned())
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// `81559 MiB`, `16x`, `33 C`.
fn number<T: std::str::FromStr>(node: Node<'_, '_>, path: &str) -> Fact<T> {
    text(node, path).and_then(|text| match first_word(&text).trim_end_matches('x').parse() {
        Ok(number) => Fact::Known(number),
        Err(_) => Fact::unknown(format!("nvidia-smi says {text:?} for {path}")),
    })
}

/// `Enabled` and `Yes`, `Disabled` and `No`.
fn switch(node: Node<'_, '_>, path: &str) -> Fact<bool> {
    text(node, path).and_then(|text| match text.as_str() {
        "Enabled" | "Yes" => Fact::Known(true),
        "Disabled" | "No" => Fact::Known(false),
        other => Fact::unknown(format!("nvidia-smi says {other:?} for {path}")),
    })
}

/// Both or neither; one without the other tells nothing.
fn both<A, B>(a: Fact<A>, b: Fact<B>) -> Fact<(A, B)> {
    match (a, b) {
        (Fact::Known(a), Fact::Known(b)) => Fact::Known((a, b)),
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => Fact::Unknown(why),
        (Fact::Absent, Fact::Absent) => Fact::Absent,
        _ => Fact::unknown("nvidia-smi reports only one of the current and the pending value"),
    }
}

/// The sum of uncorrected errors below `volatile` or `aggregate`: boards until Volta count
/// `double_bit/total`, later ones SRAM and DRAM, and since 570 SRAM errors in two kinds.
fn uncorrected(node: Node<'_, '_>, span: &str) -> Fact<u64> {
    const COUNTERS: &[&str] = &[
        "double_bit/total",
        "sram_uncorrectable",
        "sram_uncorrectable_parity",
        "sram_uncorrectable_secded",
        "dram_uncorrectable",
    ];
    let counters = COUNTERS.iter().map(|name| number::<u64>(node, &format!("ecc_errors/{span}/{name}")));
    counters.fold(Fact::Absent, |sum, counter| match (sum, counter) {
        (Fact::Known(a), Fact::Known(b)) => Fact::Known(a.saturating_add(b)),
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => Fact::Unknown(why),
        (Fact::Absent, other) | (other, Fact::Absent) => other,
    })
}

fn remapped_rows(node: Node<'_, '_>) -> Fact<RemappedRows> {
    let field = |name: &str| format!("remapped_rows/remapped_row_{name}");
    let counts = both(number(node, &field("corr")), number(node, &field("unc")));
    let flags = both(switch(node, &field("pending")), switch(node, &field("failure")));
    both(counts, flags).map(|((correctable, uncorrectable), (pending, failure))| RemappedRows {
        correctable,
        uncorrectable,
        pending,
        failure,
    })
}

/// The reasons that are active. `clocks_throttle_reasons` until 530.
fn throttling(node: Node<'_, '_>) -> Fact<Vec<String>> {
    let reasons =
        ["clocks_event_reasons", "clocks_throttle_reasons"].iter().find_map(|name| element(node, name));
    let Some(reasons) = reasons else { return Fact::Absent };
    let mut active = Vec::new();
    let mut reported = false;
    for reason in reasons.children().filter(Node::is_element) {
        let tag = reason.tag_name().name();
        let name = ["clocks_event_reason_", "clocks_throttle_reason_"]
            .iter()
            .find_map(|prefix| tag.strip_prefix(prefix));
        let Some(name) = name else { continue };
        match reason.text().map(str::trim) {
            Some("Active") => active.push(name.to_owned()),
            Some("Not Active") => {}
            Some("N/A") => continue,
            other => {
                return Fact::unknown(format!("nvidia-smi says {:?} for {tag}", other.unwrap_or_default()));
            }
        }
        reported = true;
    }
    if reported { Fact::Known(active) } else { Fact::Absent }
}

/// State and status; a GPU without a fabric has neither.
fn fabric(node: Node<'_, '_>) -> Fact<(String, String)> {
    let status = match text(node, "fabric/status") {
        Fact::Known(status) => status,
        Fact::Absent => "N/A".to_owned(),
        Fact::Unknown(why) => return Fact::Unknown(why),
    };
    text(node, "fabric/state").map(|state| (state, status))
}

fn recovery_action(node: Node<'_, '_>) -> Fact<String> {
    if node
        .descendants()
        .any(|node| node.is_text() && node.text().is_some_and(|text| text.contains("GPU requires reset")))
    {
        return Fact::Known("Reset".into());
    }
    text(node, "gpu_recovery_action").or_else(|| {
        switch(node, "gpu_reset_status/reset_required").and_then(|reset| {
            let drain = switch(node, "gpu_reset_status/drain_and_reset_recommended") == Fact::Known(true);
            let action = if reset {
                "Reset"
            } else if drain {
                "Drain and Reset"
            } else {
                "None"
            };
            Fact::Known(action.to_owned())
        })
    })
}

/// Compute capability by PCI address: `0, 00000000:1B:00.0, 9.0` a line.
pub(super) fn compute_capabilities(text: &str) -> BTreeMap<String, (u32, u32)> {
    let row = |line: &str| {
        let mut fields = line.split(',').map(str::trim);
        let (_, bus, capability) = (fields.next()?, fields.next()?, fields.next()?);
        Some((address(bus), version_pair(capability)?))
    };
    text.lines().filter_map(row).collect()
}

/// `9.0`.
pub(super) fn version_pair(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Reading;

    const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs");

    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn corpus(file: &str) -> String {
        std::fs::read_to_string(format!("{DIR}/{file}")).unwrap()
    }

    fn read(file: &str) -> Answer {
        let stdout = corpus(&format!("nvidia_smi_xml/{file}"));
        let answer = answer(Reading::Ran { status: Some(0), stdout, stderr: String::new() });
        answer.known().unwrap_or_else(|| panic!("{file}: {answer:?}")).clone()
    }

    fn show<T: std::fmt::Debug>(fact: &Fact<T>) -> String {
        match fact {
            Fact::Known(value) => format!("{value:?}"),
            Fact::Absent => "-".into(),
            Fact::Unknown(_) => "?".into(),
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn every_xml_of_the_corpus_gives_its_values() {
        let mut lines = Vec::new();
        let mut files: Vec<String> = std::fs::read_dir(format!("{DIR}/nvidia_smi_xml"))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort_unstable();
        for file in &files {
            let answer = read(file);
            let driver = answer.driver.as_ref().map(DriverVersion::to_string);
            lines.push(format!(
                "{file}: {} of {} driver {} cuda {}",
                answer.gpus.len(),
                show(&answer.attached),
                show(&driver),
                show(&answer.cuda)
            ));
            let mut last = String::new();
            for gpu in &answer.gpus {
                let line = format!(
                    "  {} {} {} memory {} persistence {} mig {} ecc {} uncorrected {} rows {} retired {} \
                        throttling {} \
                     pcie {}x{} fabric {} virtualization {} recovery {} compute {} sram {}",
                    gpu.name,
                    show(&gpu.architecture),
                    show(&gpu.pci_device.as_ref().map(|id| format!("{id:04x}"))),
                    show(&gpu.memory_total),
                    show(&gpu.persistence),
                    show(&gpu.mig),
                    show(&gpu.ecc),
                    show(&gpu.ecc_uncorrected),
                    show(&gpu.remapped_rows.as_ref().map(|r| (
                        r.correctable,
                        r.uncorrectable,
                        r.pending,
                        r.failure
                    ))),
                    show(&gpu.retired_pages_pending),
                    show(&gpu.throttling),
                    show(&gpu.pcie_generation),
                    show(&gpu.pcie_width),
                    show(&gpu.fabric),
                    show(&gpu.virtualization),
                    show(&gpu.recovery_action),
                    show(&gpu.compute_mode),
                    show(&gpu.sram_threshold_exceeded),
                );
                if line != last {
                    lines.push(line.clone());
                    last = line;
                }
                lines.push(format!("    {} {} {}", gpu.index, gpu.address, show(&gpu.temperature)));
            }
        }
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn placeholder_values_are_never_parsed_as_numbers() {
        let log = |inner: &str| {
            format!(
                "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log \
                    SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\
                 <driver_version>570.86.15</driver_version><attached_gpus>1</attached_gpus>\
                 <gpu id=\"00000000:3B:00.0\">{inner}</gpu></nvidia_smi_log>"
            )
        };
        let gpu = |inner: &str| parse(&log(inner)).known().unwrap().gpus[0].clone();
        for (word, absent) in [
            ("N/A", true),
            ("[N/A]", true),
            ("Requested functionality has been deprecated", true),
            ("Unknown Error", false),
            ("[Unknown Error]", false),
            ("ERR!", false),
            ("GPU requires reset", false),
            ("[GPU requires reset]", false),
            ("lots", false),
        ] {
            let gpu = gpu(&format!(
                "<persistence_mode>{word}</persistence_mode><temperature><gpu_temp>{word}</gpu_temp></\
                 temperature>\
                 <ecc_errors><volatile><dram_uncorrectable>{word}</dram_uncorrectable></volatile></\
                 ecc_errors>"
            ));
            for state in
                [gpu.temperature.map(|_| ()), gpu.persistence.map(|_| ()), gpu.ecc_uncorrected.map(|_| ())]
            {
                assert_eq!(state == Fact::Absent, absent, "{word}");
                assert_eq!(matches!(state, Fact::Unknown(_)), !absent, "{word}");
            }
            assert_eq!(gpu.address, "0000:3b:00.0");
            let reset = Fact::Known("Reset".to_owned());
            assert_eq!(gpu.recovery_action == reset, word.contains("requires reset"), "{word}");
        }
        let old = gpu("<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>");
        assert_eq!(old.recovery_action, Fact::Known("Reset".into()));
        let volta = gpu("<ecc_errors><volatile><double_bit><total>2</total></double_bit></volatile>\
                         <aggregate><double_bit><total>5</total></double_bit></aggregate></ecc_errors>");
        assert_eq!(volta.ecc_uncorrected, Fact::Known((2, 5)));
    }

    #[test]
    fn parses_version_fields_of_driver_610() {
        let xml = "<nvidia_smi_log><driver_version>610.57.04 [Deprecated; will be removed in CUDA 14.0. Use \
            KMD Version \
                   instead]</driver_version><cuda_umd_version>13.3</cuda_umd_version></nvidia_smi_log>";
        let answer = parse(xml);
        let answer = answer.known().unwrap();
        assert_eq!(answer.driver, "610.57.04".parse().map_or(Fact::Absent, Fact::Known));
        assert_eq!(answer.cuda, Fact::Known("13.3".into()));
        let new = parse("<nvidia_smi_log><kmd_version>620.1</kmd_version></nvidia_smi_log>");
        assert_eq!(new.known().unwrap().driver.known().unwrap().branch, 620);
    }

    #[test]
    fn failures_keep_their_words() {
        for (file, status, words) in [
            ("error-could-not-communicate-with-driver.txt", 9, "couldn't communicate with the NVIDIA driver"),
            ("error-gpu-is-lost-new-format.txt", 15, "GPU is lost"),
            ("error-gpu-is-lost-old-format.txt", 15, "Unable to determine the device handle"),
            ("error-nvml-driver-library-version-mismatch-535.288.txt", 18, "Driver/library version mismatch"),
            ("error-nvml-library-not-found.txt", 12, "libnvidia-ml.so"),
        ] {
            let stdout = corpus(&format!("nvidia_smi_misc/{file}"));
            let reading = Reading::Ran { status: Some(status), stdout, stderr: String::new() };
            let Fact::Unknown(why) = answer(reading) else { panic!("{file}") };
            assert!(
                why.detail.contains(words) && why.detail.contains(&format!("status {status}")),
                "{file}: {why}"
            );
        }
        let hung = Reading::failed("`nvidia-smi` did not answer within 20.0 s and was stopped");
        assert!(matches!(answer(hung), Fact::Unknown(why) if why.detail.contains("did not answer")));
        let cut = Reading::Ran {
            status: Some(0),
            stdout: "<?xml version=\"1.0\" ?><nvidia_smi_log>".into(),
            stderr: String::new(),
        };
        assert!(matches!(answer(cut), Fact::Unknown(_)));
    }

    #[test]
    fn a_corrupted_inforom_hides_nothing() {
        let xml = corpus("nvidia_smi_xml/rtx3060-570.124.04.xml");
        let stdout = format!("{xml}\nWARNING: infoROM is corrupted at gpu 0000:2D:00.0\n");
        let answer = answer(Reading::Ran { status: Some(14), stdout, stderr: String::new() });
        let answer = answer.known().unwrap();
        assert_eq!(answer.gpus.len(), 1);
        assert_eq!(answer.warnings, ["WARNING: infoROM is corrupted at gpu 0000:2D:00.0"]);
    }

    #[test]
    fn compute_capabilities_are_found_by_address() {
        let reported = compute_capabilities("0, 00000000:1B:00.0, 9.0\n1, 00000000:1C:00.0, [N/A]\n");
        assert_eq!(reported.into_iter().collect::<Vec<_>>(), [("0000:1b:00.0".to_owned(), (9, 0))]);
        assert!(compute_capabilities("Field \"compute_cap\" is not a valid field to query.").is_empty());
    }
}
