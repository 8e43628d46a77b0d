//! Sets of versions in words: `2.0.0 to 2.1.2 and 2.5.0`.

use diagnostic::words::and;

/// More pieces than this are not written out.
const PIECES: usize = 5;

/// Those of an ordered list that were chosen: what follows each other is written as a range.
pub(super) fn ranges<T: AsRef<str>>(all: &[T], chosen: impl Fn(&str) -> bool) -> String {
    let mut runs: Vec<Vec<&str>> = Vec::new();
    let mut follows = false;
    for one in all.iter().map(AsRef::as_ref) {
        match (chosen(one), runs.last_mut().filter(|_| follows)) {
            (true, Some(run)) => run.push(one),
            (true, None) => runs.push(vec![one]),
            (false, _) => {}
        }
        follows = chosen(one);
    }
    let mut pieces: Vec<String> = Vec::new();
    for run in runs {
        match run[..] {
            [first, _, .., last] => pieces.push(format!("{first} to {last}")),
            _ => pieces.extend(run.iter().map(|one| (*one).to_owned())),
        }
    }
    if pieces.len() > PIECES {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return String::new() };
        return format!(
            "{} of the releases from {first} to {last}",
            all.iter().filter(|one| chosen(one.as_ref())).count()
        );
    }
    and(&pieces)
}

/// The verb for one or for several.
pub(super) fn verb<'a>(count: usize, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_lists_of_versions_as_ranges() {
        let all = ["1", "2", "3", "4", "5", "6", "7"];
        let write = |chosen: &[&str]| ranges(&all, |one| chosen.contains(&one));
        assert_eq!(write(&["1", "2", "3"]), "1 to 3");
        assert_eq!(write(&["1", "2", "4", "5", "6"]), "1, 2 and 4 to 6");
        assert_eq!(write(&["7"]), "7");
        assert_eq!(write(&[]), "");
        assert_eq!(write(&all), "1 to 7");
    }
}
