//! `--expect NAME==VERSION`: a promise in words.

use super::Proof;

/// Adds one promise: `python==3.11`, `torch==2.6.0+cu124`, `cuda==12.4`, `nccl==2.21.5`, `numpy==1.26.4`,
/// `nvcc`, `import:deepspeed`.
pub fn expectation(proof: &mut Proof, text: &str) -> Result<(), String> {
    let text = text.trim();
    if let Some(module) = text.strip_prefix("import:") {
        let good =
            !module.is_empty() && module.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if !good {
            return Err(format!("{module:?} is not a module name"));
        }
        proof.imports.push(module.to_owned());
        return Ok(());
    }
    if text == "nvcc" {
        proof.nvcc = Some(String::new());
        return Ok(());
    }
    let (name, version) = text.split_once("==").ok_or("write NAME==VERSION, import:MODULE or nvcc")?;
    let (name, version) = (name.trim().to_lowercase(), version.trim().to_owned());
    if name.is_empty() || version.is_empty() || !version.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("write NAME==VERSION, import:MODULE or nvcc".into());
    }
    match name.as_str() {
        "python" => proof.python = Some(version),
        "cuda" => proof.cuda = Some(version),
        "nccl" => proof.nccl = Some(version),
        "nvcc" => proof.nvcc = Some(version),
        "torch" => {
            let (version, build) = match version.split_once('+') {
                Some((version, build)) => (version.to_owned(), Some(build.to_owned())),
                None => (version, None),
            };
            proof.torch = Some(version);
            proof.torch_build = build;
        }
        _ => {
            proof.packages.insert(normalised(&name), version);
        }
    }
    Ok(())
}

/// A package's name as PEP 503 compares it.
fn normalised(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if text.ends_with('-') => {}
            '-' | '_' | '.' => text.push('-'),
            c => text.push(c.to_ascii_lowercase()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_in_words() {
        let mut proof = Proof::default();
        for text in [
            "python==3.11",
            "torch==2.6.0+cu124",
            "cuda==12.4",
            "Flash_Attn==2.7.4",
            "nvcc",
            "import:torch.cuda",
        ] {
            expectation(&mut proof, text).unwrap();
        }
        assert_eq!(proof.python.as_deref(), Some("3.11"));
        assert_eq!((proof.torch.as_deref(), proof.torch_build.as_deref()), (Some("2.6.0"), Some("cu124")));
        assert_eq!(proof.packages.get("flash-attn").map(String::as_str), Some("2.7.4"));
        assert_eq!((proof.nvcc.as_deref(), proof.imports.len()), (Some(""), 1));
        for bad in ["numpy", "numpy==", "==1", "numpy==>1", "import:", "import:a b"] {
            assert!(expectation(&mut proof, bad).is_err(), "{bad}");
        }
    }
}
