//! Counts in the values of sbatch's options, as Slurm reads them (SchedMD/slurm@284c3b95).

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
