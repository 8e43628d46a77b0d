//! What Ctrl-C does while this machine is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diagnostic::error::Kind;

/// Made once for a command, and passed to whatever reads the machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupts {
    handled_by_command: Arc<AtomicBool>,
}

impl Interrupts {
    /// From now on Ctrl-C ends the programs that were started, and then envdoc: they are in process groups of
    /// their own, which the terminal does not signal.
    pub(super) fn end_programs(&self) {
        let handled_by_command = self.handled_by_command.clone();
        let watch = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            if let Ok(Ok(())) = runtime.map(|runtime| runtime.block_on(tokio::signal::ctrl_c())) {
                host::end_programs();
                if !handled_by_command.load(Ordering::SeqCst) {
                    std::process::exit(Kind::Interrupted.exit_code().into());
                }
            }
        };
        // Without the thread, Ctrl-C ends only envdoc.
        let _ = std::thread::Builder::new().name("interrupt".into()).spawn(watch);
    }

    /// From now on the command cleans up after Ctrl-C and ends by itself.
    pub(super) fn leave_to_command(&self) {
        self.handled_by_command.store(true, Ordering::SeqCst);
    }
}
