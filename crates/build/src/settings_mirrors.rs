//! Mirrors of settings files.

use diagnostic::error::{Error, Kind};
use image::request::ImageRequest;

/// The mirrors that settings files name.
#[derive(Debug, Clone, Default)]
pub struct SettingsMirrors {
    /// The package index.
    pub pip_index: Option<SettingsMirror>,
    /// The mirror of the distribution's archive.
    pub apt: Option<SettingsMirror>,
}

/// A mirror that a settings file names.
#[derive(Debug, Clone)]
pub struct SettingsMirror {
    pub url: String,
    /// Why it may not be used.
    pub untrusted: Option<UntrustedMirror>,
}

/// Why a mirror may not be used: what it serves would run in the build, and in the image.
#[derive(Debug, Clone)]
pub struct UntrustedMirror {
    /// `/work/envdoc.toml is not trusted`.
    pub why: String,
    /// What trusts the file, once somebody has read it.
    pub command: String,
}

/// Fills in the mirrors that nothing else names; returns which.
///
/// # Errors
/// Such a mirror comes from a settings file that is not trusted: to build without it would be another image.
pub(crate) fn fill_in(image: &mut ImageRequest, settings: &SettingsMirrors) -> Result<Vec<String>, Error> {
    let mut taken = Vec::new();
    if image.mirrors.preset.is_some() {
        return Ok(taken);
    }
    let mut take = |name: &str, mirror: &mut Option<String>, set: &Option<SettingsMirror>| {
        let (None, Some(SettingsMirror { url, untrusted })) = (&mirror, set) else { return Ok(()) };
        if let Some(UntrustedMirror { why, command }) = untrusted {
            let message = format!("{name} {url} of the settings cannot be used: {why}");
            let hint = format!("read the file, then run `{command}`; or pass --{name}, or --no-config");
            return Err(Error::new(Kind::Usage, message).hint(hint));
        }
        taken.push(format!("{name} of the settings: {url}"));
        *mirror = Some(url.clone());
        Ok(())
    };
    if image.wheels.is_none() {
        take("pip-index", &mut image.mirrors.pip_index, &settings.pip_index)?;
    }
    take("apt-mirror", &mut image.mirrors.apt, &settings.apt)?;
    Ok(taken)
}
