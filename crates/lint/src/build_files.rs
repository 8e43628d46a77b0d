//! The files of the build context that say what a command of a Dockerfile builds.

use crate::programs;
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::{Dockerfile, Run};

/// The first such file that the build context is known to have: its path in the context, and its text.
pub(crate) fn build_text<'f>(file: &'f Dockerfile, run: &Run) -> Option<(String, &'f str)> {
    build_files(run).iter().find_map(|path| file.text_at(&run.state, path))
}

/// The files that may tell what a call of make, CMake or a script compiles, as paths in the image.
pub(crate) fn build_files(run: &Run) -> Vec<String> {
    let command = &run.command;
    let value = |names: &[&str]| {
        let words = command.words.iter().enumerate();
        words.filter(|(_, word)| word.known).find_map(|(at, word)| {
            let next = || command.words.get(at + 1).filter(|next| next.known).map(|next| next.text.clone());
            names.iter().find_map(|name| match word.text.strip_prefix(name)? {
                "" => next(),
                rest => Some(rest.trim_start_matches('=').to_owned()),
            })
        })
    };
    match command.program() {
        "make" | "gmake" => {
            let folder = value(&["--directory", "-C"]).unwrap_or_default();
            match value(&["--file", "--makefile", "-f"]) {
                Some(file) => vec![join(&folder, &file)],
                None => ["GNUmakefile", "makefile", "Makefile"].map(|name| join(&folder, name)).to_vec(),
            }
        }
        "cmake" if !["--build", "--install", "-E", "-P"].iter().any(|word| command.has(word)) => {
            let folder = value(&["-S"]).or_else(|| cmake_directory(run)).unwrap_or_else(|| ".".to_owned());
            vec![join(&folder, "CMakeLists.txt")]
        }
        program => {
            let word = command.word(usize::from(programs::is_shell(program)));
            let is_script = word.ends_with(".sh") && !word.contains('$');
            if is_script { vec![word.to_owned()] } else { Vec::new() }
        }
    }
}

/// The directory that a call of CMake names without an option.
fn cmake_directory(run: &Run) -> Option<String> {
    let mut words = run.command.words.iter().skip(1);
    let mut directory = None;
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "-B" | "-G" | "-D" | "-A" | "-T" | "-C" => {
                words.next();
            }
            text if text.starts_with('-') => {}
            text => directory = Some(text.to_owned()).filter(|_| word.known),
        }
    }
    directory
}
