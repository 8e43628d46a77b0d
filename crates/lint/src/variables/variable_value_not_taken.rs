//! A variable has a value that its reader does not take.

use catalog::strtoll::strtoll;
use catalog::variables::{Owner, Status, Variable, VariableType};

use crate::read::settings::{Setting, Settings};
use crate::read::values::{devices, is_stoi, is_torch_bool, with_unit, yes_or_no};
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "variable-value-not-taken",
    severity: Severity::Warning,
    summary: "variables have values that their reader accepts",
    explain: include_str!("variable_value_not_taken.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "NCCL_IB_RETRY_CNT=13\n"),
        named("train.env", "NCCL_IB_DISABLE=yes\n"),
        named("train.env", "NCCL_CUMEM_ENABLE=off\n"),
        named("train.env", "NCCL_IB_GID_INDEX=three\n"),
        named("train.env", "NCCL_BUFFSIZE=4M\n"),
        named("train.env", "NCCL_SOCKET_IFNAME=eth0, eth1\n"),
        named("train.env", "NCCL_SOCKET_IFNAME=eth*\n"),
        named("train.env", "NCCL_IB_HCA=mlx5_0,^mlx5_3\n"),
        named("train.env", "TORCH_NCCL_BLOCKING_WAIT=on\n"),
        named("train.env", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=long\n"),
        named("train.sh", "NCCL_P2P_DISABLE=true torchrun train.py\n"),
        named(
            "compose.yaml",
            "services:\n  a:\n    image: b\n    environment:\n      NCCL_P2P_LEVEL: NVLINK\n",
        ),
    ],
    silent: &[
        named(
            "train.env",
            "NCCL_IB_RETRY_CNT=7\nNCCL_IB_TIMEOUT=22\nNCCL_DEBUG=info\nNCCL_P2P_LEVEL=2\nNCCL_IB_TC=106\n",
        ),
        named("train.sh", "export NCCL_DEBUG=$LEVEL\ntrain\n"),
        named("train.env", "NCCL_IB_DISABLE=\nNCCL_IB_TC=0x6a\nNCCL_WARN_ENABLE_DEBUG_INFO=true\n"),
        named("train.env", "NCCL_SOCKET_IFNAME=^docker0,lo\nNCCL_IB_HCA==mlx5_0:1,mlx5_2:1\n"),
        named("train.env", "TORCH_NCCL_TRACE_BUFFER_SIZE=2000\nTORCH_NCCL_DUMP_ON_TIMEOUT=true\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let wrong = settings.known().filter_map(|(_, one, value)| {
        // Words that older programs took for "no log", and that come to it.
        if one.name == "NCCL_DEBUG"
            && ["NONE", "OFF", "0"].iter().any(|word| word.eq_ignore_ascii_case(value))
        {
            return None;
        }
        let row = settings.catalog.variable(&one.name)?;
        number(row, one, value)
            .or_else(|| torch(row, one, value))
            .or_else(|| interfaces(one, value))
            .or_else(|| out_of_bounds(row, one, value))
    });
    wrong.collect()
}

/// A value that is not among those of the catalog.
fn out_of_bounds(row: &Variable, one: &Setting, value: &str) -> Option<Found> {
    let allowed = row.allowed_text().filter(|_| row.takes(value) == Some(false))?;
    let message = format!("{}={value} is not an accepted value; allowed: {allowed}", one.name);
    Some(Found::warning(one.location.clone(), message, default(row)))
}

fn default(row: &Variable) -> String {
    match row.default.as_deref().unwrap_or_default() {
        "" => String::new(),
        default => format!("Remove it; the default is {default}"),
    }
}

/// A word where NCCL reads a number.
fn number(row: &Variable, one: &Setting, value: &str) -> Option<Found> {
    let (read, rest) = strtoll(value);
    if !row.is_number_of_nccl() || rest.trim().is_empty() {
        return None;
    }
    let name = &one.name;
    let meant = yes_or_no(value).filter(|_| row.kind == Some(VariableType::Bool));
    if meant == Some(false) {
        let message = format!("{name}={value} is off only because NCCL reads every word as 0");
        let change = Change::value(one.location.line, name, value, "0");
        return Some(Found::note(one.location.clone(), message, format!("Set {name}=0")).change(change));
    }
    let allowed = row.allowed_text().map_or_else(String::new, |allowed| format!("; allowed: {allowed}"));
    let message =
        format!("{name}={value} has the value {read}: NCCL reads a number and ignores the rest{allowed}");
    let meant = match (meant, with_unit(value)) {
        (Some(_), _) => "1".to_owned(),
        (None, Some(bytes)) if row.kind == Some(VariableType::IntBytes) => bytes.to_string(),
        _ => return Some(Found::warning(one.location.clone(), message, default(row))),
    };
    let change = Change::value(one.location.line, name, value, &meant);
    Some(Found::warning(one.location.clone(), message, format!("Set {name}={meant}")).change(change))
}

/// What PyTorch's process group throws an error for.
fn torch(row: &Variable, one: &Setting, value: &str) -> Option<Found> {
    let group =
        row.owner == Owner::Pytorch && (one.name.starts_with("TORCH_NCCL_") || one.name.starts_with("NCCL_"));
    let read = matches!(row.status, Status::Current | Status::Deprecated);
    let kind = row.kind.filter(|_| group && read)?;
    let (taken, wanted) = match kind {
        VariableType::Bool => (is_torch_bool(value), "1 or 0"),
        _ if kind.is_integer() => (is_stoi(value), "a number"),
        _ => return None,
    };
    let message = format!(
        "{}={value} is not a valid value; init_process_group fails with `Invalid value for environment \
         variable`",
        one.name
    );
    let meant =
        yes_or_no(value).filter(|_| kind == VariableType::Bool).map(|yes| if yes { "1" } else { "0" });
    let change = meant.map(|meant| Change::value(one.location.line, &one.name, value, meant));
    (!taken).then(|| {
        Found::warning(one.location.clone(), message, format!("Set it to {wanted}")).change_if(change)
    })
}

/// Variables with a list of interfaces or of devices.
const LISTS: &[&str] = &["NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME", "NCCL_IB_HCA"];

/// An entry of a list of interfaces that no interface can match.
fn interfaces(one: &Setting, value: &str) -> Option<Found> {
    if !LISTS.contains(&one.name.as_str()) {
        return None;
    }
    let list = devices(value);
    let wrong = |entry: &&&str| entry.contains(|c: char| c.is_whitespace() || "^=*?;/[]".contains(c));
    let entry = list.entries.iter().find(wrong)?;
    let why = match () {
        () if entry.contains(['^', '=']) => "`^` and `=` count only at the beginning of the list",
        () if entry.contains(['*', '?', '[']) => {
            "NCCL does not support wildcards; a name matches as a prefix"
        }
        () if entry.contains(char::is_whitespace) => "NCCL does not trim spaces",
        () => "entries are separated by commas",
    };
    let message = format!("{}={value}: the entry `{entry}` matches nothing; {why}", one.name);
    let cleaned = |entry: &&str| {
        let parts = entry.split(|c: char| c.is_whitespace() || c == ';').filter(|part| !part.is_empty());
        parts.map(|part| part.trim_matches(['^', '=', '*', '?']).to_owned()).collect::<Vec<_>>()
    };
    let names: Vec<String> = list.entries.iter().flat_map(cleaned).collect();
    let exact = entry.contains(['/', '[']);
    let fix = match exact {
        true => "Separate the names with commas".to_owned(),
        false => format!("Set {}={}{}", one.name, list.marks, names.join(",")),
    };
    // Blanks behind commas and a star at the end of a prefix have one meaning.
    let clear =
        |entry: &&str| !entry.trim().trim_end_matches('*').contains([' ', ';', '^', '=', '*', '?', '[', '/']);
    let cleaned = format!("{}{}", list.marks, names.join(","));
    let certain = list.entries.iter().all(clear);
    let change = certain.then(|| Change::value(one.location.line, &one.name, value, &cleaned));
    Some(Found::warning(one.location.clone(), message, fix).change_if(change))
}
