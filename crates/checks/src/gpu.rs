//! GPUs on the PCI bus: their names and the kernel drivers that may have them.
use facts::Facts;
use facts::pci::Device;

/// Drivers of the kernel itself for NVIDIA GPUs, which know nothing of CUDA.
pub(crate) const IN_KERNEL_DRIVERS: &[&str] = &["nouveau", "nova-core", "nova_core"];

/// Drivers that keep a device for a virtual machine.
pub(crate) fn is_pass_through(driver: &str) -> bool {
    driver.contains("vfio") || ["pci-stub", "xen-pciback", "pciback"].contains(&driver)
}

/// The catalog's name of a GPU, else its PCI id.
pub(crate) fn name(facts: &Facts, gpu: &Device) -> String {
    facts
        .catalog
        .gpus()
        .by_pci(gpu.device)
        .map_or_else(|| format!("[10de:{:04x}]", gpu.device), |gpu| gpu.name.clone())
}
