//! A build as text, for `--dry-run`.

use std::collections::BTreeMap;
use std::fmt::Write;

use diagnostic::units::short_size;
use image::verify::Expectations;

use crate::build_plan::BuildPlan;

impl BuildPlan {
    /// What would be sent to the engine. Values that may be secret are left out.
    pub fn text(&self) -> String {
        let (image, build) = (&self.image, &self.image.build);
        let mut text = String::new();
        let mut row = |label: &str, value: String| {
            if !value.is_empty() {
                let _ = writeln!(text, "{label:<12} {value}");
            }
        };
        let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>().join(", ");
        let folder = build.context.folder.as_ref().map(|folder| folder.display().to_string());
        row("context", folder.unwrap_or_default());
        row("dockerfile", build.context.dockerfile.clone());
        for (name, bytes) in &build.context.files {
            row("adds", format!("{name} ({})", short_size(bytes.len() as u64)));
        }
        row("platform", build.platform.clone().unwrap_or_else(|| self.platforms.join(", ")));
        row("target", build.target.clone().unwrap_or_default());
        row("arguments", names(&build.arguments));
        row("labels", names(&build.labels));
        row("cache from", build.cache_from.join(", "));
        row("secrets", build.secrets.keys().cloned().collect::<Vec<_>>().join(", "));
        row("tags", image.tags.join(", "));
        row("push", if image.push { "yes".into() } else { String::new() });
        row("cache to", image.cache_names.join(", "));
        let count = image.expectations.as_ref().map_or(0, Expectations::count);
        row("verify", if count == 0 { "nothing".into() } else { format!("{count} expectations") });
        self.notes.iter().for_each(|note| row("note", note.to_string()));
        let own = build.context.files.iter().find(|(name, _)| *name == build.context.dockerfile);
        if let Some((_, bytes)) = own {
            let _ = write!(text, "\n{}", String::from_utf8_lossy(bytes));
        }
        text
    }
}
