//! Programs that use the video engines of a GPU, which need libraries of the driver of their own.

/// Names that only such programs have: encoders and decoders of ffmpeg and GStreamer, NVIDIA's bindings.
const NAMES: &[&str] = &[
    "h264_nvenc",
    "hevc_nvenc",
    "av1_nvenc",
    "h264_cuvid",
    "hevc_cuvid",
    "av1_cuvid",
    "vp9_cuvid",
    "mjpeg_cuvid",
    "nvh264enc",
    "nvh265enc",
    "nvh264dec",
    "nvh265dec",
    "PyNvVideoCodec",
    "PyNvCodec",
];

/// The name in a text, outside of comments, that needs the video engines, and its line from 1.
pub(crate) fn used(text: &str) -> Option<(usize, &str)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with(['#', '/']));
    lines.into_iter().find_map(|(index, line)| Some((index + 1, in_line(line)?)))
}

fn in_line(line: &str) -> Option<&str> {
    let known = NAMES.iter().find_map(|name| {
        let at = line.find(name)?;
        Some(&line[at..at + name.len()])
    });
    known.or_else(|| {
        let at = line.find("-hwaccel")?;
        let rest = &line[at + "-hwaccel".len()..];
        let value = rest.trim_start_matches(['"', '\'', ',', '=', ' ', '\t']);
        let is_gpu = ["cuda", "nvdec", "cuvid"].iter().find(|name| value.starts_with(**name))?;
        // `-hwaccel_device` is another option.
        (!rest.starts_with('_')).then(|| &line[at..line.len() - value.len() + is_gpu.len()])
    })
}

/// Whether a value of NVIDIA_DRIVER_CAPABILITIES brings the libraries of the video engines.
pub(crate) fn has_video(value: &str) -> bool {
    value.split(',').map(str::trim).any(|word| matches!(word, "video" | "all"))
}

#[cfg(test)]
mod tests {
    use super::used;

    #[test]
    fn uses() {
        for (text, expected) in [
            ("ffmpeg -i a -c:v h264_nvenc b", Some((1, "h264_nvenc"))),
            ("x\ncmd = ['ffmpeg', '-hwaccel', 'cuda', '-i', src]", Some((2, "-hwaccel', 'cuda"))),
            ("ffmpeg -hwaccel_device 0 -i a b", None),
            ("# h264_nvenc is faster\nffmpeg -c:v libx264", None),
            ("ffmpeg -hwaccel vaapi", None),
        ] {
            assert_eq!(used(text), expected, "{text}");
        }
    }
}
