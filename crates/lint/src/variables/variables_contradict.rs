//! Variables that undo each other.

use crate::read::settings::{Scope, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::Catalog;
use catalog::variables::Status;

pub(crate) const RULE: Rule = Rule {
    id: "variables-contradict",
    severity: Severity::Warning,
    summary: "variables that are set together do not contradict each other",
    explain: include_str!("variables_contradict.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "NCCL_IB_DISABLE=1\nNCCL_IB_HCA=mlx5\n"),
        named("train.sh", "export NCCL_MIN_CTAS=16\nexport NCCL_MAX_CTAS=8\ntrain\n"),
        named(
            "compose.yaml",
            "services:\n  a:\n    image: b\n    environment: [NCCL_NET=IB, NCCL_IB_DISABLE=1]\n    devices: \
             [/dev/infiniband]\n    ulimits: {memlock: -1}\n",
        ),
        named("train.env", "TORCH_NCCL_BLOCKING_WAIT=1\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"),
        named("train.env", "NCCL_ASYNC_ERROR_HANDLING=1\nTORCH_NCCL_ASYNC_ERROR_HANDLING=3\n"),
        named("train.env", "NCCL_SOCKET_NTHREADS=8\nNCCL_NSOCKS_PERTHREAD=16\n"),
    ],
    silent: &[
        named("train.env", "NCCL_IB_DISABLE=0\nNCCL_IB_HCA=mlx5\nNCCL_DEBUG_FILE=/tmp/nccl.%h.%p\n"),
        named(
            "train.sh",
            "if [ \"$IB\" ]; then\n  export NCCL_IB_HCA=mlx5\nelse\n  export NCCL_IB_DISABLE=1\nfi\ntrain\n",
        ),
        named(
            "compose.yaml",
            "services:\n  a:\n    image: b\n    environment: [NCCL_IB_DISABLE=1]\n  c:\n    image: b\n    \
             environment: [NCCL_NET=IB]\n",
        ),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let of_scope = |scope| {
        let pairs = PAIRS.iter().filter_map(move |pair| pair(scope));
        pairs.chain(old_and_new(settings.catalog, scope))
    };
    settings.scopes.iter().flat_map(of_scope).collect()
}

/// What contradicts what.
const PAIRS: &[fn(&Scope) -> Option<Found>] =
    &[chosen_and_off, net_and_off, log_without_level, channels, socket_threads, waits, open_mpi];

fn warning(scope: &Scope, name: &str, message: String, fix: &str) -> Option<Found> {
    Some(Found::warning(scope.setting(name)?.location.clone(), message, fix))
}

fn is(scope: &Scope, name: &str, value: &str) -> bool {
    scope.value(name).is_some_and(|set| set.eq_ignore_ascii_case(value))
}

fn chosen_and_off(scope: &Scope) -> Option<Found> {
    let off = [("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket")];
    let (name, value) = off.into_iter().find(|(name, value)| is(scope, name, value))?;
    let chosen = ["NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_IB_TIMEOUT"];
    let chosen = chosen.into_iter().find(|name| scope.setting(name).is_some())?;
    warning(
        scope,
        chosen,
        format!("{chosen} has no effect: {name}={value} disables InfiniBand"),
        "Keep one of them",
    )
}

fn net_and_off(scope: &Scope) -> Option<Found> {
    let both = is(scope, "NCCL_NET", "IB") && is(scope, "NCCL_IB_DISABLE", "1");
    let message = "NCCL_NET=IB requires InfiniBand, which NCCL_IB_DISABLE=1 disables; NCCL fails to \
        initialize"
        .to_owned();
    both.then(|| warning(scope, "NCCL_NET", message, "Keep one of them"))?
}

fn log_without_level(scope: &Scope) -> Option<Found> {
    let name =
        ["NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"].into_iter().find(|name| scope.setting(name).is_some())?;
    // Set to what only the shell knows, or in another file, it may be on.
    let off =
        is(scope, "NCCL_DEBUG", "VERSION") || is(scope, "NCCL_DEBUG", "WARN") && name == "NCCL_DEBUG_SUBSYS";
    let level = scope.value("NCCL_DEBUG").unwrap_or_default().to_owned();
    let message = format!("{name} has no effect: NCCL_DEBUG={level} writes no subsystem log lines");
    off.then(|| warning(scope, name, message, "Set NCCL_DEBUG=INFO, or remove both"))?
}

fn channels(scope: &Scope) -> Option<Found> {
    let number = |name: &str| scope.value(name)?.parse::<i64>().ok();
    let pairs = [("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"), ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS")];
    let (low, high) = pairs
        .into_iter()
        .find(|(low, high)| number(low).zip(number(high)).is_some_and(|(low, high)| low > high))?;
    let message = format!("{low}={} is greater than {high}={}", scope.value(low)?, scope.value(high)?);
    warning(scope, low, message, "Keep one of them")
}

fn socket_threads(scope: &Scope) -> Option<Found> {
    let number = |name: &str| scope.value(name)?.parse::<i64>().ok();
    let (threads, sockets) = (number("NCCL_SOCKET_NTHREADS")?, number("NCCL_NSOCKS_PERTHREAD")?);
    let message = format!(
        "NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD is {}; the maximum is 64",
        threads.checked_mul(sockets)?
    );
    (threads.checked_mul(sockets)? > 64)
        .then(|| warning(scope, "NCCL_SOCKET_NTHREADS", message, "Reduce one of them"))?
}

fn old_and_new(catalog: &Catalog, scope: &Scope) -> Option<Found> {
    let rows = scope.settings.iter().filter_map(|one| catalog.variable(&one.name));
    let mut old = rows.filter(|row| row.status == Status::Deprecated);
    old.find_map(|row| {
        let new = row.deprecated_by.as_deref()?;
        let (before, after) = (scope.value(&row.name)?, scope.value(new)?);
        let message = format!(
            "{}={before} and its new name {new}={after} differ; the new name takes \
             precedence",
            row.name
        );
        (before != after).then(|| warning(scope, &row.name, message, "Remove the old name"))?
    })
}

fn waits(scope: &Scope) -> Option<Found> {
    let blocking = is(scope, "TORCH_NCCL_BLOCKING_WAIT", "1") || is(scope, "NCCL_BLOCKING_WAIT", "1");
    let names = ["TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"];
    let handling = names.into_iter().find(|name| scope.value(name).is_some_and(|value| value != "0"))?;
    let message = format!("{handling} has no effect: with blocking wait, no watchdog runs");
    blocking.then(|| warning(scope, handling, message, "Remove the blocking wait"))?
}

fn open_mpi(scope: &Scope) -> Option<Found> {
    let (include, exclude) = ("OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude");
    let message = format!("{include} and {exclude} are both set; Open MPI accepts only one");
    (scope.setting(include).is_some() && scope.setting(exclude).is_some())
        .then(|| warning(scope, exclude, message, "Keep the first"))?
}
