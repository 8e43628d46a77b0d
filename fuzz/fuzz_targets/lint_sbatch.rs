//! Batch scripts of Slurm: the text stands behind the first directive.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::Shell, "job.sbatch", &format!("#!/bin/bash\n#SBATCH {text}"));
});
