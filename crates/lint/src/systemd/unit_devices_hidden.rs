//! A service for GPUs to which systemd shows no device.

use crate::programs::{is_launcher, is_python, option};
use crate::read::unit::{Unit, UnitSetting};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "unit-devices-hidden",
    severity: Severity::Error,
    summary: "a service that uses GPUs sees their devices",
    explain: include_str!("unit_devices_hidden.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named(
            "train.service",
            "[Service]\nEnvironment=CUDA_VISIBLE_DEVICES=0,1\nExecStart=/opt/venv/bin/torchrun \
             --standalone t.py\n\
             PrivateTmp=yes\nPrivateDevices=yes\n",
        ),
        named("vllm.service", "[Service]\nExecStart=/opt/venv/bin/vllm serve /srv/m\nPrivateDevices=true\n"),
        named(
            "train.service",
            "[Service]\nExecStart=/opt/venv/bin/python /srv/t.py --device cuda\nDevicePolicy=closed\n",
        ),
    ],
    silent: &[
        named("api.service", "[Service]\nExecStart=/opt/venv/bin/python /srv/api.py\nPrivateDevices=yes\n"),
        named(
            "train.service",
            "[Service]\nEnvironment=CUDA_VISIBLE_DEVICES=\nExecStart=/opt/venv/bin/python /srv/prep.py\n\
             PrivateDevices=yes\n",
        ),
        named(
            "train.service",
            "[Service]\nExecStart=/opt/venv/bin/torchrun t.py\nPrivateDevices=yes\nPrivateDevices=no\n",
        ),
        named(
            "train.service",
            "[Service]\nExecStart=/opt/venv/bin/torchrun \
             t.py\nDevicePolicy=closed\nDeviceAllow=char-nvidia-uvm \
             rw\nDeviceAllow=char-nvidia-frontend rw\n",
        ),
        named(
            "train.service",
            "[Service]\nExecStart=/opt/venv/bin/torchrun t.py\nDevicePolicy=closed\n\
             DeviceAllow=char-nvidia* rw\n",
        ),
        // The last value counts.
        named(
            "train.service",
            "[Service]\nExecStart=/opt/venv/bin/python /srv/t.py --device cuda --device cpu\n\
             DevicePolicy=closed\n",
        ),
        named(
            "train.service",
            "[Service]\nExecStart=/opt/venv/bin/torchrun t.py\nPrivateDevices=yes\nBindPaths=/dev/nvidia0 \
             /dev/nvidiactl /dev/nvidia-uvm\n",
        ),
        // The engine has the devices.
        named(
            "train.service",
            "[Service]\nExecStart=/usr/bin/docker run --gpus all image torchrun t.py\nPrivateDevices=yes\n",
        ),
    ],
};

fn judge(unit: &Unit) -> Vec<Found> {
    fault(unit).into_iter().collect()
}

fn fault(unit: &Unit) -> Option<Found> {
    let last = |key: &str| unit.settings.iter().rfind(|one| one.section == "Service" && one.key == key);
    let value = |one: &UnitSetting| one.value.text.trim().to_ascii_lowercase();
    let private = last("PrivateDevices").filter(|one| matches!(&*value(one), "yes" | "true" | "on" | "1"));
    let binds = |key| unit.of_key(key).any(|one| one.value.text.contains("/dev"));
    let private = private.filter(|_| !binds("BindPaths") && !binds("BindReadOnlyPaths"));
    let closed = last("DevicePolicy").filter(|one| matches!(&*value(one), "closed" | "strict"));
    let allowed = |one: &UnitSetting| ["nvidia", "dri", "*"].iter().any(|name| one.value.text.contains(name));
    let closed = closed.filter(|_| !unit.of_key("DeviceAllow").any(allowed));
    let setting = private.or(closed)?;
    let user = uses_gpu(unit)?;
    let message = format!(
        "{}={} gives the service no /dev/nvidia* devices, but {user}; CUDA finds no device",
        setting.key,
        setting.value.text.trim()
    );
    let fix = match setting.key.as_str() {
        "PrivateDevices" => "Remove PrivateDevices=, or set it to no",
        // Since driver 550.40 /proc/devices names `nvidia` and `nvidiactl`, before it `nvidia-frontend`.
        _ => "Add `DeviceAllow=char-nvidia* rw`, or remove the policy",
    };
    let line = setting.value.line_at(0);
    Some(Found::error(line, message, fix).about(&setting.key))
}

/// What says that the service uses a GPU.
fn uses_gpu(unit: &Unit) -> Option<String> {
    let main: Vec<_> = unit.commands().into_iter().filter(|one| one.key == "ExecStart").collect();
    // The devices of a container come from its engine.
    let here = |program: &str| is_launcher(program) || is_python(program) || program == "vllm";
    if !main.iter().all(|one| here(one.program())) {
        return None;
    }
    for one in &main {
        let words: Vec<&str> = one.words.iter().map(|word| word.text.as_str()).collect();
        let device = option(&words, &["device"]).is_some_and(|device| device.starts_with("cuda"));
        let cpu = words.iter().any(|word| matches!(*word, "--cpu" | "--use_cpu" | "cpu" | "gloo"));
        let starts = matches!(one.program(), "torchrun" | "deepspeed" | "vllm");
        if device {
            return Some("its command has `--device cuda`".to_owned());
        }
        if starts && !cpu && words.get(1) != Some(&"bench") {
            return Some(format!("it starts {}", one.program()));
        }
    }
    let words: Vec<String> =
        unit.of_key("Environment").flat_map(UnitSetting::words).map(|word| word.text).collect();
    let value = words.iter().rev().find_map(|word| word.strip_prefix("CUDA_VISIBLE_DEVICES="))?;
    let list = value.starts_with(|letter: char| letter.is_ascii_digit()) || value.starts_with("GPU-");
    list.then(|| format!("it sets CUDA_VISIBLE_DEVICES={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Kind, lint};

    /// `char-nvidia-frontend` is the name of old drivers only.
    #[test]
    fn the_fix_fits_every_driver() {
        let text = "[Service]\nExecStart=/opt/venv/bin/torchrun t.py\nDevicePolicy=closed\n";
        let file = File::new(catalog::testing::catalog(), "a.service", text, Kind::SystemdUnit);
        let found = lint(&[&RULE], &[], &file);
        let fix = format!("{:?}", found[0].found.fixes);
        assert!(fix.contains("`DeviceAllow=char-nvidia* rw`"), "{fix}");
    }
}
