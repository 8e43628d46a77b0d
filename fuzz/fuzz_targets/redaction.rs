//! Redaction of logs: secrets on lines of their own are gone, whatever is around them, and the text is text.
#![no_main]

const TOKEN: &str = concat!("hf", "_OBExMtnYWftHKrmUeUKjuZSibyToBcCcRt");
const PASSWORD: &str = "correct-horse";

libfuzzer_sys::fuzz_target!(|input: &str| {
    let Some((at, text)) = input.split_at_checked(1) else { return };
    // The fuzzer learns both from the comparison below, and puts them where nothing tells them from a word.
    if text.contains(PASSWORD) || text.contains(TOKEN) {
        return;
    }
    let places: Vec<usize> = text.match_indices('\n').map(|(place, _)| place).collect();
    let place = places.get(usize::from(at.as_bytes()[0])).copied().unwrap_or(text.len());
    let (before, after) = text.split_at(place);
    let planted = format!("{before}\n{TOKEN}\npassword={PASSWORD}\nx {TOKEN} y{after}");
    let shown = host::redact::log(&planted, &["gpu-17".to_owned()]);
    assert!(!shown.contains(TOKEN) && !shown.contains(PASSWORD), "{planted:?} became {shown:?}");
    assert!(host::redact::holds_credential(&planted));
});
