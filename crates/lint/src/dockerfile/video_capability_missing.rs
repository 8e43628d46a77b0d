//! NVENC and NVDEC without the libraries of the driver for them.

use crate::base::Base;
use crate::read::dockerfile::{Dockerfile, From, start};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use crate::video::{has_video, used};

pub(crate) const RULE: Rule = Rule {
    id: "video-capability-missing",
    severity: Severity::Warning,
    summary: "images that encode or decode video on the GPU ask for the capability `video`",
    explain: include_str!("video_capability_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y ffmpeg\n\
             ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility\nCOPY transcode.sh ./\nCMD [\"bash\", \
             \"transcode.sh\"]\n",
            &[("transcode.sh", "ffmpeg -hwaccel cuda -i $1 -c:v h264_nvenc $2\n")],
        ),
        dockerfile(
            "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y ffmpeg\n\
             ENTRYPOINT [\"ffmpeg\", \"-hwaccel\", \"cuda\"]\n",
        ),
    ],
    silent: &[
        with(
            "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y ffmpeg\n\
             ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,video\nCOPY transcode.sh ./\nCMD [\"bash\", \
             \"transcode.sh\"]\n",
            &[("transcode.sh", "ffmpeg -hwaccel cuda -i $1 -c:v h264_nvenc $2\n")],
        ),
        with(
            "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y ffmpeg\n\
             COPY transcode.sh ./\nCMD [\"bash\", \"transcode.sh\"]\n",
            &[("transcode.sh", "ffmpeg -i $1 -c:v libx264 $2\n")],
        ),
        with(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y ffmpeg\n\
             COPY transcode.sh ./\nCMD [\"bash\", \"transcode.sh\"]\n",
            &[("transcode.sh", "ffmpeg -i $1 -c:v h264_nvenc $2\n")],
        ),
    ],
};

const NAME: &str = "NVIDIA_DRIVER_CAPABILITIES";

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(last) = file.stages.last() else { return Vec::new() };
    let set = last.end.variables.get(NAME);
    let base = file.shipped().into_iter().find_map(|stage| match &stage.from {
        From::Image(image) if image.known => Some(image.text.clone()),
        _ => None,
    });
    // nvidia/cuda sets compute,utility.
    let of_base = base.is_some_and(|base| Base::of(&base) == Some(Base::Cuda));
    let value = match set {
        Some(set) => match &set.text {
            Some(value) => value.clone(),
            None => return Vec::new(),
        },
        None if of_base => "compute,utility".to_owned(),
        None => return Vec::new(),
    };
    let Some((name, place)) = uses(file).filter(|_| !has_video(&value)) else { return Vec::new() };
    let shown =
        if set.is_some() { format!("{NAME}={value}") } else { format!("{NAME}={value} of the base image") };
    let message = format!(
        "`{name}` {place} needs the video engines, but {shown} leaves out video: libnvidia-encode and \
         libnvcuvid are not in the container"
    );
    let line = file.shipped().iter().find_map(|stage| {
        let env = stage.instructions.iter().rev().filter(|one| one.keyword == "ENV");
        env.into_iter().find(|one| one.text.text.contains(NAME)).map(|one| one.line)
    });
    let line = line.unwrap_or_else(|| last.instructions.first().map_or(1, |one| one.line));
    vec![Found::warning(line, message, format!("Set `ENV {NAME}=compute,utility,video`"))]
}

/// What uses the engines: the commands of the image, or a program that it copies.
fn uses(file: &Dockerfile) -> Option<(String, String)> {
    let own = [start::entrypoint(file), start::command(file)].into_iter().flatten().find_map(|one| {
        let text = one.json.as_ref().map_or_else(|| one.text.text.clone(), |words| words.join(" "));
        used(&text).map(|(_, name)| (name.to_owned(), format!("in line {}", one.line)))
    });
    let copied = || {
        file.copies.iter().find_map(|path| {
            let text = file.context_text(path)?;
            used(text).map(|(line, name)| (name.to_owned(), format!("(line {line} of {path})")))
        })
    };
    own.or_else(copied)
}
