//! The options of sbatch (SchedMD/slurm:src/common/slurm_opt.c@284c3b95).

/// Options of sbatch that take a value, with their letters.
pub(crate) const WITH_VALUE: &[(&str, &str)] = &[
    ("account", "A"),
    ("acctg-freq", ""),
    ("array", "a"),
    ("batch", ""),
    ("bb", ""),
    ("bbf", ""),
    ("begin", "b"),
    ("chdir", "D"),
    ("cluster-constraint", ""),
    ("clusters", "M"),
    ("cluster", ""),
    ("comment", ""),
    ("constraint", "C"),
    ("container", ""),
    ("container-id", ""),
    ("context", ""),
    ("core-spec", "S"),
    ("cores-per-socket", ""),
    ("cpu-freq", ""),
    ("cpus-per-gpu", ""),
    ("cpus-per-task", "c"),
    ("deadline", ""),
    ("delay-boot", ""),
    ("dependency", "d"),
    ("distribution", "m"),
    ("error", "e"),
    ("exclude", "x"),
    ("export", ""),
    ("export-file", ""),
    ("extra", ""),
    ("extra-node-info", "B"),
    ("gid", ""),
    ("gpu-bind", ""),
    ("gpu-freq", ""),
    ("gpus", "G"),
    ("gpus-per-node", ""),
    ("gpus-per-socket", ""),
    ("gpus-per-task", ""),
    ("gres", ""),
    ("gres-flags", ""),
    ("hint", ""),
    ("input", "i"),
    ("job-name", "J"),
    ("kill-on-invalid-dep", ""),
    ("licenses", "L"),
    ("mail-type", ""),
    ("mail-user", ""),
    ("mcs-label", ""),
    ("mem", ""),
    ("mem-bind", ""),
    ("mem-per-cpu", ""),
    ("mem-per-gpu", ""),
    ("mem-update", ""),
    ("mincpus", ""),
    ("network", ""),
    ("nodefile", "F"),
    ("nodelist", "w"),
    ("nodes", "N"),
    ("ntasks", "n"),
    ("ntasks-per-core", ""),
    ("ntasks-per-gpu", ""),
    ("ntasks-per-node", ""),
    ("ntasks-per-socket", ""),
    ("ntasks-per-tres", ""),
    ("open-mode", ""),
    ("output", "o"),
    ("partition", "p"),
    ("power", ""),
    ("prefer", ""),
    ("priority", ""),
    ("profile", ""),
    ("qos", "q"),
    ("reservation", ""),
    ("resources", ""),
    ("runtime", ""),
    ("segment", ""),
    ("signal", ""),
    ("sockets-per-node", ""),
    ("switches", ""),
    ("tasks-per-node", ""),
    ("thread-spec", ""),
    ("threads-per-core", ""),
    ("time", "t"),
    ("time-min", ""),
    ("tmp", ""),
    ("tres-bind", ""),
    ("tres-per-task", ""),
    ("uid", ""),
    ("wait-all-nodes", ""),
    ("wckey", ""),
    ("wrap", ""),
];
/// Options that take none, or one behind `=` only.
pub(crate) const WITHOUT_VALUE: &[(&str, &str)] = &[
    ("consolidate-segments", ""),
    ("contiguous", ""),
    ("exclusive", ""),
    ("external", ""),
    ("get-user-env", ""),
    ("help", "h"),
    ("hold", "H"),
    ("ignore-pbs", ""),
    ("nice", ""),
    ("no-kill", "k"),
    ("no-requeue", ""),
    ("oom-kill-step", ""),
    ("overcommit", "O"),
    ("oversubscribe", "s"),
    ("parsable", ""),
    ("propagate", ""),
    ("quiet", "Q"),
    ("reboot", ""),
    ("requeue", ""),
    ("resv-ports", ""),
    ("share", ""),
    ("spread-job", ""),
    ("spread-segments", ""),
    ("stepmgr", ""),
    ("test-only", ""),
    ("usage", ""),
    ("use-min-nodes", ""),
    ("verbose", "v"),
    ("version", "V"),
    ("wait", "W"),
];

/// Every long option.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    WITH_VALUE.iter().chain(WITHOUT_VALUE).map(|(name, _)| *name)
}

/// The long name of an option as getopt finds it: whole, or by a beginning that only one has.
pub(crate) fn long_name(typed: &str) -> Option<&'static str> {
    let exact = names().find(|name| *name == typed);
    let mut starting = names().filter(|name| name.starts_with(typed) && !typed.is_empty());
    let only = starting.next().filter(|_| starting.next().is_none());
    exact.or(only).map(|name| match name {
        "tasks-per-node" => "ntasks-per-node",
        "share" => "oversubscribe",
        name => name,
    })
}

/// A number, which may have a unit: suffix_mult in src/common/slurm_protocol_defs.c.
pub(crate) fn is_count(part: &str) -> bool {
    let end = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
    let unit = part[end..].to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit);
    end > 0 && (unit.is_empty() || matches!(letter, "k" | "m" | "g" | "t" | "p"))
}

/// Whether Slurm cannot read NAME, NAME:COUNT, NAME=COUNT, NAME:TYPE or NAME:TYPE:COUNT:
/// slurm_get_next_tres in src/common/slurm_protocol_defs.c.
pub(crate) fn is_unreadable(one: &str) -> bool {
    let equals = one.contains('=');
    let Some((name, last)) = one.rsplit_once(if equals { '=' } else { ':' }) else { return false };
    let refused = !is_count(last) && (equals || name.contains(':'));
    name.is_empty() || last.is_empty() || refused
}
