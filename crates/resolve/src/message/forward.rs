//! Why the cuda-compat package does not help an older driver.

use crate::verdict::Forward;

pub(super) fn forward_text(forward: &Forward) -> String {
    match forward {
        Forward::NoGpuNamed => {
            "forward compatibility requires data-centre GPUs, and no GPU was named".to_owned()
        }
        Forward::OnDataCentreGpus => {
            "forward compatibility works on data-centre GPUs: name your GPU with --gpu".to_owned()
        }
        Forward::NotDataCentre(gpu) => format!("the {gpu} does not support forward compatibility"),
        Forward::Branches(branches) => {
            let list: Vec<String> = branches.iter().map(u32::to_string).collect();
            format!("its cuda-compat package supports only the driver branches {}", list.join(", "))
        }
        Forward::OtherDrivers { several: false } => {
            "its cuda-compat package does not support this driver".to_owned()
        }
        Forward::OtherDrivers { several: true } => {
            "their cuda-compat packages do not support this driver".to_owned()
        }
    }
}
