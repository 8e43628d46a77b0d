//! The option `--gpus` of docker run, wherever it is written.

/// What is wrong with a value of `--gpus`, after the shell has removed its quotes: a field without `=` is a
/// number of GPUs (docker/cli: opts/gpus.go@29e34aba).
pub(crate) fn fault(value: &str) -> Option<(String, String)> {
    let fields = fields(value);
    let device = fields.iter().find(|(_, field)| field.starts_with("device="))?;
    let count =
        fields.iter().find(|(quoted, field)| !quoted && !field.contains('=') && !field.contains('$'))?;
    let list = fields.iter().map(|(_, field)| field.as_str()).collect::<Vec<_>>().join(",");
    let message = format!(
        "docker splits --gpus {list} at the comma: {} and a number of GPUs, {}; it refuses to start the \
         container (`cannot set both Count and DeviceIDs on device request`)",
        device.1, count.1
    );
    Some((message, format!("Write `--gpus '\"{list}\"'`")))
}

/// Whether a value names a field of a request for devices, which only an engine takes: `device=0,1`.
pub(crate) fn names_field(value: &str) -> bool {
    const FIELDS: &[&str] = &["device", "count", "driver", "capabilities", "options"];
    let named = |field: &str| field.split_once('=').is_some_and(|(name, _)| FIELDS.contains(&name));
    fields(value.trim_matches('\'')).iter().any(|(_, field)| named(field))
}

/// The fields of a line of CSV, and whether they are quoted.
pub(crate) fn fields(text: &str) -> Vec<(bool, String)> {
    let (mut found, mut field, mut open, mut quoted) = (Vec::new(), String::new(), false, false);
    for letter in text.chars() {
        match letter {
            '"' => (open, quoted) = (!open, true),
            ',' if !open => {
                found.push((quoted, std::mem::take(&mut field)));
                quoted = false;
            }
            _ => field.push(letter),
        }
    }
    found.push((quoted, field));
    found
}
