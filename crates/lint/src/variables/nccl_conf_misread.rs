//! Lines of nccl.conf that NCCL takes for other variables or values.

use crate::read::settings::{Setting, Settings};
use crate::rule::{Change, Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "nccl-conf-misread",
    severity: Severity::Error,
    summary: "every line of nccl.conf is NAME=value, without quotes, extra spaces and comments",
    explain: include_str!("nccl_conf_misread.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("nccl.conf", "export NCCL_SOCKET_IFNAME=bond0\n"),
        named("nccl.conf", "NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME = eth0\n"),
        named("nccl.conf", "  NCCL_DEBUG=INFO\n"),
        named("nccl.conf", "NCCL_SOCKET_IFNAME=\"eth0\"\n"),
        named("nccl.conf", "NCCL_DEBUG=INFO # while testing\n"),
        named("nccl.conf", "NCCL_DEBUG: INFO\n"),
    ],
    silent: &[
        named(
            "nccl.conf",
            "# comment = 1\n\nNCCL_SOCKET_IFNAME==bond0\nNCCL_IB_HCA=^mlx5_2\nNCCL_DEBUG=WARN\n",
        ),
        named("train.env", "NCCL_DEBUG = INFO\nexport NCCL_IB_GID_INDEX=3\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    if settings.kind != Some(Kind::NcclConf) {
        return Vec::new();
    }
    let mut found: Vec<Found> =
        settings.others.iter().filter_map(|(line, text)| other(*line, text)).collect();
    found.extend(settings.scopes.iter().flat_map(|scope| &scope.settings).filter_map(value));
    found
}

/// A line of which no setting could be read.
fn other(line: usize, text: &str) -> Option<Found> {
    if text.starts_with('#') || text.trim().is_empty() {
        return None;
    }
    let Some((name, value)) = text.split_once('=') else {
        let name = text.split(':').next().unwrap_or_default().trim();
        let message = format!("{:?} has no `=`; NCCL reads over the line", text.trim());
        return name
            .starts_with("NCCL_")
            .then(|| Found::error(line, message, format!("Write `{name}=…`")).about(name));
    };
    let exported = name.trim().strip_prefix("export ");
    let bare = exported.unwrap_or(name).trim();
    let message = format!("NCCL takes {name:?} for the name of the variable; {bare} stays as it was");
    let found = Found::error(line, message, format!("Write `{bare}={}`", value.trim())).about(bare);
    let change = exported.map(|_| Change::word(line, "export ", ""));
    bare.starts_with("NCCL_").then(|| found.change_if(change))
}

/// A setting that NCCL reads with more than was meant.
fn value(one: &Setting) -> Option<Found> {
    let (name, written) = (&one.name, &one.written);
    let right = format!("Write `{name}={}`", one.value.as_deref().unwrap_or_default());
    let what = if written.starts_with([' ', '\t']) {
        "the space after `=`"
    } else if written.starts_with(['"', '\'']) && written.len() > 1 {
        "the quotes"
    } else if written.contains(" #") {
        "the comment"
    } else if written.ends_with([' ', '\t']) {
        "the trailing space"
    } else {
        return None;
    };
    let message = format!("NCCL keeps {what} in the value of {name}: {written:?}");
    Some(Found::warning(one.location.clone(), message, right))
}
