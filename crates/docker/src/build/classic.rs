//! The classic builder's account of a build, and Podman's, which imitates it: lines of text.

use std::time::Instant;

use bollard::models::BuildInfo;

use super::open_line::OpenLine;
use super::progress::shown;
use super::{Event, LAST_LINES_LIMIT, Step, StepKind};
use crate::reference;

/// What has been heard so far.
#[derive(Debug, Default)]
pub(super) struct Classic {
    steps: Vec<Step>,
    since: Option<Instant>,
    open: OpenLine,
    last: Vec<String>,
    image: Option<String>,
}

impl Classic {
    pub(super) fn take(&mut self, info: &BuildInfo, on: &mut dyn FnMut(Event)) {
        if let Some(text) = &info.stream {
            for line in self.open.add(text) {
                self.line(&shown(&line), on);
            }
        }
        let (Some(what), false) = (&info.status, self.steps.is_empty()) else { return };
        let progress = info.progress_detail.clone().unwrap_or_default();
        let number = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
        on(Event::Progress {
            step: self.steps.len() - 1,
            what: what.clone(),
            current: number(progress.current),
            total: number(progress.total),
        });
    }

    fn line(&mut self, line: &str, on: &mut dyn FnMut(Event)) {
        if let Some(name) = step_name(line) {
            self.end(None, on);
            let kind = StepKind::of(&name);
            self.steps.push(Step { name: name.clone(), kind, seconds: 0.0, cached: false });
            self.since = Some(Instant::now());
            self.last.clear();
            on(Event::Started { step: self.steps.len() - 1, name, kind });
            return;
        }
        if let Some(id) = line.strip_prefix("Successfully built ") {
            self.image = Some(id.trim().to_owned());
        }
        // Docker's words, and Buildah's.
        let cached = line.trim() == "---> Using cache" || line.starts_with("--> Using cache");
        let Some(step) = self.steps.last_mut() else { return };
        step.cached |= cached;
        let own = [" --->", "-->", "Removing intermediate container", "Successfully ", "COMMIT"];
        // Buildah says the id of each image.
        let id = line.len() == 64 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
        if line.trim().is_empty() || id || own.iter().any(|own| line.starts_with(own)) {
            return;
        }
        if self.last.len() == LAST_LINES_LIMIT {
            self.last.remove(0);
        }
        self.last.push(line.to_owned());
        on(Event::Output { step: self.steps.len() - 1, line: line.to_owned() });
    }

    fn end(&mut self, error: Option<String>, on: &mut dyn FnMut(Event)) {
        let (Some(since), number) = (self.since.take(), self.steps.len()) else { return };
        let Some(step) = self.steps.last_mut() else { return };
        step.seconds = if step.cached { 0.0 } else { since.elapsed().as_secs_f64() };
        on(Event::Ended { step: number - 1, cached: step.cached, seconds: step.seconds, error });
    }

    /// The step that failed with its last lines, the steps, and the image that the last lines name.
    #[expect(clippy::type_complexity, reason = "used once, taken apart at once")]
    pub(super) fn finish(
        mut self,
        whole: bool,
        on: &mut dyn FnMut(Event),
    ) -> (Option<(String, Vec<String>)>, Vec<Step>, Option<String>) {
        if let Some(open) = self.open.take() {
            self.line(&shown(&open), on);
        }
        self.end((!whole).then(|| "failed".to_owned()), on);
        let failed = self.steps.last().map(|step| (step.name.clone(), self.last.clone()));
        (failed, self.steps, self.image)
    }
}

/// `Step 3/7 : RUN x` of Docker, `STEP 3/7: RUN x` of Podman, as BuildKit writes it: `[3/7] RUN x`.
fn step_name(line: &str) -> Option<String> {
    let rest = line.strip_prefix("Step ").or_else(|| line.strip_prefix("STEP "))?;
    let (count, name) = rest.split_once(':')?;
    let count = count.trim();
    let numeric =
        count.split_once('/').is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok());
    numeric.then(|| format!("[{count}] {}", name.trim()))
}

/// The registry that a FROM line takes its image from: `FROM ghcr.io/x/y AS z` from `ghcr.io`, `FROM debian`
/// from `docker.io`.
pub(super) fn registry_of_from(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("from"))?;
    let image = words.find(|word| !word.starts_with("--"))?;
    Some(reference::registry(image).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_of_from_lines() {
        for (line, expected) in [
            ("FROM debian:12", Some("docker.io")),
            ("from --platform=linux/amd64 localhost:5000/a/b AS x", Some("localhost:5000")),
            ("FROM nvcr.io/nvidia/pytorch:24.01-py3", Some("nvcr.io")),
            ("FROM library/debian", Some("docker.io")),
            ("RUN from x", None),
        ] {
            assert_eq!(registry_of_from(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn lines_of_docker_and_of_podman() {
        for lines in [
            "Step 1/2 : FROM lab:base\n ---> 5d0da3dc9764\nStep 2/2 : RUN echo hi\n ---> Running in \
                3c\nhi\nRemoving intermediate container 3c\n ---> 9a\nSuccessfully built 9a\n",
            "STEP 1/2: FROM lab:base\nSTEP 2/2: RUN echo hi\nhi\nCOMMIT\n--> 9a\nSuccessfully built 9a\n",
        ] {
            let mut classic = Classic::default();
            let mut output = Vec::new();
            let mut on = |event| {
                if let Event::Output { line, .. } = event {
                    output.push(line);
                }
            };
            classic.take(&BuildInfo { stream: Some(lines.into()), ..BuildInfo::default() }, &mut on);
            let (_, steps, image) = classic.finish(true, &mut on);
            let names: Vec<_> = steps.iter().map(|step| step.name.as_str()).collect();
            assert_eq!(names, ["[1/2] FROM lab:base", "[2/2] RUN echo hi"]);
            assert_eq!(image.as_deref(), Some("9a"));
            assert_eq!(output, ["hi"]);
        }
    }
}
