//! What every registry of rules has in common: checks of a machine and of a fleet, lint rules, questions
//! about an image, items of an image's verification.

use crate::Severity;
use crate::error::{Error, Kind};
use crate::suggest::nearest;

/// A rule as documentation, `envdoc explain` and reports see it. What it is given and how it runs is its own.
pub trait Rule: Sync {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    fn id(&self) -> &'static str;
    /// The worst that it says.
    fn severity(&self) -> Severity;
    /// Where it is in reports and documentation.
    fn group(&self) -> Group;
    /// What a sound subject shows, in one line without a full stop: "module and library are one version".
    fn summary(&self) -> &'static str;
    /// Markdown with fixed headings: what it checks, why it matters, how to fix it, sources.
    fn explain(&self) -> &'static str;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Kebab case, as after `--only`: `driver`.
    pub id: &'static str,
    /// As in the text report: `NVIDIA driver`.
    pub title: &'static str,
}

/// The rules that `--only` and `--ignore` leave, in their order. Both name rules or groups; an empty name is
/// none.
///
/// # Errors
/// A name that neither a rule nor a group has: `what` says what the options take (`check or group`), `list`
/// which command lists them all.
pub fn select<R: Rule>(
    rules: &[&'static R],
    only: &[String],
    ignore: &[String],
    what: &str,
    list: &str,
) -> Result<Vec<&'static R>, Error> {
    let is_of = |name: &String, rule: &R| rule.id() == name || rule.group().id == name;
    let options = [("--only", only), ("--ignore", ignore)];
    let given = options.into_iter().flat_map(|(option, names)| names.iter().map(move |name| (option, name)));
    for (option, name) in given.filter(|(_, name)| !name.is_empty()) {
        if !rules.iter().any(|rule| is_of(name, rule)) {
            let known = rules.iter().flat_map(|rule| [rule.id(), rule.group().id]);
            let error = Error::new(Kind::Usage, format!("{option}: unknown {what} {name:?}"));
            let error = error.did_you_mean(nearest(name, known));
            return Err(error.hint(list));
        }
    }
    let any = |list: &[String], rule: &R| list.iter().any(|name| is_of(name, rule));
    let all = only.iter().all(String::is_empty);
    let left = rules.iter().filter(|rule| (all || any(only, rule)) && !any(ignore, rule));
    Ok(left.copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Example(&'static str, &'static str);

    impl Rule for Example {
        fn id(&self) -> &'static str {
            self.0
        }
        fn severity(&self) -> Severity {
            Severity::Error
        }
        fn group(&self) -> Group {
            Group { id: self.1, title: "" }
        }
        fn summary(&self) -> &'static str {
            ""
        }
        fn explain(&self) -> &'static str {
            ""
        }
    }

    const RULES: &[&Example] = &[
        &Example("driver-missing", "driver"),
        &Example("driver-old", "driver"),
        &Example("gpu-lost", "gpu"),
    ];

    fn selected(only: &[&str], ignore: &[&str]) -> Result<Vec<&'static str>, Error> {
        let owned = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let left =
            select(RULES, &owned(only), &owned(ignore), "check or group", "`envdoc checks` lists them")?;
        Ok(left.iter().map(|rule| rule.id()).collect())
    }

    #[test]
    fn rules_are_selected_by_id_and_by_group() {
        assert_eq!(selected(&[], &[]).unwrap().len(), 3);
        assert_eq!(selected(&[""], &["gpu"]).unwrap(), ["driver-missing", "driver-old"]);
        assert_eq!(
            selected(&["driver", "gpu-lost"], &["driver-old"]).unwrap(),
            ["driver-missing", "gpu-lost"]
        );
    }

    #[test]
    fn an_unknown_name_is_an_error_with_the_nearest_one() {
        let error = selected(&[], &["gpu-last"]).unwrap_err();
        assert_eq!(error.message, "--ignore: unknown check or group \"gpu-last\"");
        assert_eq!(error.hints, ["did you mean gpu-lost?", "`envdoc checks` lists them"]);
    }
}
