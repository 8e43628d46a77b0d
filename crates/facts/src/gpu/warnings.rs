//! The lines that `nvidia-smi` prints next to its XML.

use super::Gpus;

impl Gpus {
    /// Those about a corrupted infoROM: `WARNING: infoROM is corrupted at gpu 0000:3B:00.0`.
    pub fn inforom_warnings(&self) -> impl Iterator<Item = &String> {
        self.warnings.iter().filter(|line| line.to_ascii_lowercase().contains("inforom is corrupted"))
    }
}
