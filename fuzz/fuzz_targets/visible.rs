//! Texts of strangers as one line and as a block: nothing hidden is left, and twice is once.
#![no_main]

use diagnostic::visible;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let line = visible::line(text);
    assert!(!line.contains(visible::is_hidden), "{line:?}");
    assert_eq!(visible::line(&line), line);
    let block = visible::block(text);
    assert!(!block.contains(|c| visible::is_hidden(c) && c != '\n' && c != '\t'), "{block:?}");
    envdoc_fuzz::assert_clean(&diagnostic::terminal::foreign(text));
    diagnostic::shell::word(text);
    diagnostic::yaml::too_deep(text);
    diagnostic::suggest::nearest(text, ["torch", "torchvision"]);
});
