//! `--expect NAME==VERSION`.

use super::Expectations;

/// A text that is not an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidExpectation {
    /// None of the known forms.
    #[error("expected NAME==VERSION, import:MODULE or nvcc")]
    Form,
    /// `import:` without the name of a module.
    #[error("expected the name of a module after `import:`")]
    Module,
}

impl Expectations {
    /// Adds one: `python==3.11`, `torch==2.6.0+cu124`, `cuda==12.4`, `nccl==2.21.5`, `numpy==1.26.4`, `nvcc`,
    /// `import:deepspeed`.
    pub fn add(&mut self, text: &str) -> Result<(), InvalidExpectation> {
        let text = text.trim();
        if let Some(module) = text.strip_prefix("import:") {
            let good =
                !module.is_empty() && module.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
            if !good {
                return Err(InvalidExpectation::Module);
            }
            self.imports.push(module.to_owned());
            return Ok(());
        }
        if text == "nvcc" {
            self.nvcc = Some(String::new());
            return Ok(());
        }
        let (name, version) = text.split_once("==").ok_or(InvalidExpectation::Form)?;
        let (name, version) = (name.trim().to_lowercase(), version.trim().to_owned());
        if name.is_empty() || version.is_empty() || !version.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(InvalidExpectation::Form);
        }
        match name.as_str() {
            "python" => self.python = Some(version),
            "cuda" => self.cuda = Some(version),
            "nccl" => self.nccl = Some(version),
            "nvcc" => self.nvcc = Some(version),
            "torch" => {
                let (version, build) = match version.split_once('+') {
                    Some((version, build)) => (version.to_owned(), Some(build.to_owned())),
                    None => (version, None),
                };
                self.torch = Some(version);
                self.torch_build = build;
            }
            _ => {
                self.packages.insert(normalized(&name), version);
            }
        }
        Ok(())
    }
}

/// The name normalized as in PEP 503.
fn normalized(name: &str) -> String {
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
    fn parses_expectations() {
        let mut expected = Expectations::default();
        for text in [
            "python==3.11",
            "torch==2.6.0+cu124",
            "cuda==12.4",
            "Flash_Attn==2.7.4",
            "nvcc",
            "import:torch.cuda",
        ] {
            expected.add(text).unwrap();
        }
        assert_eq!(expected.python.as_deref(), Some("3.11"));
        assert_eq!(
            (expected.torch.as_deref(), expected.torch_build.as_deref()),
            (Some("2.6.0"), Some("cu124"))
        );
        assert_eq!(expected.packages.get("flash-attn").map(String::as_str), Some("2.7.4"));
        assert_eq!((expected.nvcc.as_deref(), expected.imports.len()), (Some(""), 1));
        for bad in ["numpy", "numpy==", "==1", "numpy==>1", "import:", "import:a b"] {
            assert!(expected.add(bad).is_err(), "{bad}");
        }
    }
}
