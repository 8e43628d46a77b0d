//! The instances of a model of Triton, in its `config.pbtxt`.

/// A group of instances.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Instances {
    /// `KIND_GPU`; empty where it is not said.
    pub kind: String,
    /// The GPUs that it names, each with its line, from 1.
    pub gpus: Vec<(usize, usize)>,
}

/// The groups of a configuration.
pub(crate) fn instances(text: &str) -> Vec<Instances> {
    let mut found = Vec::new();
    // The depth at which `instance_group` stands, and the group that is open in it.
    let (mut depth, mut outside, mut open) = (0_usize, None, None::<Instances>);
    let mut key = "";
    for (line, token) in tokens(text) {
        match token {
            "[" | "{" => {
                depth += 1;
                if token == "{" && outside.is_some() && open.is_none() {
                    open = Some(Instances::default());
                }
            }
            "]" | "}" => {
                depth = depth.saturating_sub(1);
                if token == "}" && outside.is_some_and(|outside| depth <= outside + 1) {
                    found.extend(open.take());
                }
                if outside == Some(depth) {
                    outside = None;
                }
            }
            "instance_group" if outside.is_none() && depth == 0 => outside = Some(depth),
            "kind" | "gpus" | "count" | "name" | "profile" | "passive" | "host_policy" | "rate_limiter" => {
                key = token
            }
            value => match (&mut open, key) {
                (Some(group), "gpus") => group.gpus.extend(value.parse().ok().map(|gpu| (line, gpu))),
                (Some(group), "kind") => value.clone_into(&mut group.kind),
                _ => {}
            },
        }
    }
    found
}

/// The words and brackets of a text, with their lines; comments and strings are left out.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (mut start, mut quote) = (None, None);
        for (at, letter) in line.char_indices() {
            let word = letter.is_ascii_alphanumeric() || letter == '_';
            if !word && let Some(from) = start.take() {
                found.push((index + 1, &line[from..at]));
            }
            match (letter, quote) {
                (_, Some(end)) => quote = (letter != end).then_some(end),
                ('"' | '\'', None) => quote = Some(letter),
                ('#', None) => break,
                ('[' | ']' | '{' | '}', None) => found.push((index + 1, &line[at..=at])),
                _ if word => start = start.or(Some(at)),
                _ => {}
            }
        }
        let rest = start.map(|from| (index + 1, &line[from..]));
        found.extend(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_configuration() {
        let of = |text: &str| {
            let groups = instances(text).into_iter();
            groups.map(|one| (one.kind, one.gpus)).collect::<Vec<_>>()
        };
        let gpu = |gpus: &[(usize, usize)]| ("KIND_GPU".to_owned(), gpus.to_vec());
        let text = "input [ { name: \"gpus\" dims: [ 3, 4 ] } ]\ninstance_group [\n  {\n    count: 2\n    \
                    kind: KIND_GPU # gpus: [7]\n    gpus: [ 0, 1 ]\n  },\n  { kind: KIND_CPU \
                    }\n]\nparameters { key: \"a\" value: { string_value: \"2\" } }\n";
        assert_eq!(of(text), [gpu(&[(6, 0), (6, 1)]), ("KIND_CPU".to_owned(), Vec::new())]);
        assert_eq!(
            of("instance_group { gpus: 1 gpus: 2 }\nversion: 3"),
            [(String::new(), vec![(1, 1), (1, 2)])]
        );
        assert_eq!(of("instance_group"), []);
    }
}
