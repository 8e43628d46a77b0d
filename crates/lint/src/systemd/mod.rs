//! Rules about services of systemd and their drop-ins.

pub(crate) mod unit_container_detached;
pub(crate) mod unit_devices_hidden;
pub(crate) mod unit_environment_misread;
pub(crate) mod unit_program_in_foreground;
pub(crate) mod unit_program_refused;
pub(crate) mod unit_shell_syntax;
pub(crate) mod unit_start_repeated;
pub(crate) mod unit_terminal_missing;
