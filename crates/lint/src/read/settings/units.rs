//! Variables of services of systemd.

use super::{Held, Scope, Setting, Settings};
use crate::file::File;
use crate::read::unit::{Unit, UnitSetting, UnitWord};

impl Settings {
    /// The variables of a service of systemd, set by `Environment=`.
    pub(crate) fn of_unit(read: &Unit, file: &File) -> Settings {
        let (torch, nccl) = Settings::versions(file.facts.as_deref());
        let words = read.of_key("Environment").flat_map(UnitSetting::words);
        let setting = |word: UnitWord| {
            let (name, value) = word.text.split_once('=').filter(|(name, _)| !name.is_empty())?;
            Some(Setting {
                name: name.to_owned(),
                // `%i` differs from instance to instance.
                value: (!value.contains(['%', '$'])).then(|| value.to_owned()),
                written: value.to_owned(),
                location: word.line.into(),
                held: Held::Always,
                certain: true,
            })
        };
        let settings = words.filter_map(setting).collect();
        Settings {
            scopes: vec![Scope { settings, torch, nccl, ..Scope::default() }],
            ..Settings::empty(file)
        }
    }
}
