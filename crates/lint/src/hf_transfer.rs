//! Downloads of huggingface_hub with hf_transfer, which a variable switches on.

use std::str::FromStr;

use pep440_rs::Version;

use crate::read::dockerfile::Dockerfile;

/// The first release that uses hf_transfer, and the first that comes with hf_xet, which downloads instead.
const USED: (&str, &str) = ("0.14.0", "0.32.0");

pub(crate) const VARIABLE: &str = "HF_HUB_ENABLE_HF_TRANSFER";

/// Whether the library takes a value for yes (huggingface_hub:src/huggingface_hub/constants.py).
pub(crate) fn is_on(value: &str) -> bool {
    ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
}

pub(crate) const FIX: &str = "Install hf_transfer, or remove HF_HUB_ENABLE_HF_TRANSFER";

/// Why downloads fail with a value of the variable in an image.
pub(crate) fn missing(value: &str, file: &Dockerfile) -> Option<String> {
    let end = &file.stages.last()?.end;
    let bare = end.bare || end.image.is_some_and(|image| image.repository == "pytorch/pytorch");
    let hub = end.packages.get("huggingface-hub")?;
    let pin = hub.pin.as_ref()?;
    let of = |text: &str| Version::from_str(text).ok();
    let used = of(USED.0)? <= *pin && *pin < of(USED.1)?;
    let installed = end.packages.iter().any(|(name, one)| {
        name == "hf-transfer" || one.text.contains("hf_transfer") || one.text.contains("hf-transfer")
    });
    let xet = end.packages.get("hf-xet").is_some() || hub.text.contains("xet");
    let on = is_on(value);
    (on && bare && used && !installed && !xet && !end.more_packages && !end.opaque).then(|| {
        format!(
            "{VARIABLE}={value}, but hf_transfer is not installed; huggingface_hub {} then refuses to \
             download: \
             `Fast download using 'hf_transfer' is enabled … but 'hf_transfer' package is not available`",
            hub.pin_text
        )
    })
}
