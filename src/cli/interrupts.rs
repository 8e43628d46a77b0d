//! What Ctrl-C does while this machine is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diagnostic::error::Kind;

/// Made once for a command, and passed to whatever reads the machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupts {
    handled_by_command: Arc<AtomicBool>,
    arrived: Arc<AtomicBool>,
    waits: Arc<AtomicBool>,
}

impl Interrupts {
    /// From now on Ctrl-C ends the programs that were started, and then envdoc: they are in process groups of
    /// their own, which the terminal does not signal.
    pub(super) fn end_programs(&self) {
        // Once is enough, however often the machine is read.
        if self.waits.swap(true, Ordering::SeqCst) {
            return;
        }
        let (handled_by_command, arrived) = (self.handled_by_command.clone(), self.arrived.clone());
        // Without a runtime, Ctrl-C ends only envdoc.
        let Ok(runtime) = docker::runtime() else { return };
        runtime.spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                arrived.store(true, Ordering::SeqCst);
                host::end_programs();
                if !handled_by_command.load(Ordering::SeqCst) {
                    std::process::exit(Kind::Interrupted.exit_code().into());
                }
            }
        });
    }

    /// From now on the command cleans up after Ctrl-C and ends by itself.
    pub(super) fn leave_to_command(&self) {
        self.handled_by_command.store(true, Ordering::SeqCst);
    }

    /// Whether Ctrl-C has ended the programs.
    pub(super) fn arrived(&self) -> bool {
        self.arrived.load(Ordering::SeqCst)
    }

    /// From now on Ctrl-C ends envdoc again.
    pub(super) fn take_back(&self) {
        self.handled_by_command.store(false, Ordering::SeqCst);
    }
}
