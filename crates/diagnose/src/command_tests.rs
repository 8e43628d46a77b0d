//! The causes of signatures tell commands from sentences: what is pasted begins with a program, and what is
//! read has no command in it.

use catalog::signatures::{Cause, Signature};
use catalog::testing::catalog;

/// Programs that begin the commands of `confirm`; add a new one here when a row needs it.
const PROGRAMS: &str = "\
    aa-status accelerate apptainer apt-cache apt-get ausearch aws bash cat chage cmake command \
    compute-sanitizer conda containerd crictl crun cuobjdump curl date dcgmi deepspeed df dkms \
    dmesg dmidecode dnf docker docker-compose dockerd dpkg ds_report echo edac-util enroot env \
    envdoc ethtool fi_info fi_pingpong file find findmnt firewall-cmd free fuser g++ gcc getcap \
    getenforce getent git grep head helm hostname huggingface-cli ibstat ibv_devices ibv_devinfo id \
    ip ipmitool iptables journalctl jq kubectl last lctl ldconfig ldd locale loginctl ls lsattr \
    lsb_release lscpu lsmod lsof lspci make md5sum mlxfwmanager modinfo modprobe mokutil mount \
    mpirun munge nc nft ninja nm nproc nvcc nvidia-container-cli nvidia-container-runtime \
    nvidia-ctk nvidia-imex-ctl nvidia-persistenced nvidia-smi nvidia-smi.exe nvme od ofed_info \
    ompi_info openssl passwd pdsh pgrep ping pip pkg-config podman poetry ps pwd py-spy python \
    python3 quota ras-mc-ctl ray rdma rpm runc rustc sacct scontrol sha256sum show_gids showmount \
    sinfo slurmctld slurmd smartctl snap squeue srun ss ssh ssh-add ssh-keygen sshd stat strings \
    sudo swapon sysctl systemctl systemd-detect-virt tail torchrun touch ucx_info ulimit uname \
    update-alternatives uv wc which who wsl xfs_info xxd";

fn is_program(word: &str) -> bool {
    word.starts_with('/') || PROGRAMS.split(' ').any(|program| program == word)
}

/// The commands of a line of shell: what is between `;` and `|` outside of quotes.
fn commands(line: &str) -> Vec<&str> {
    let (mut commands, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, character) in line.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None if matches!(character, ';' | '|') => {
                commands.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    commands.push(&line[start..]);
    commands
}

/// The program of a command, after the variables that are set for it and sudo.
fn program(command: &str) -> &str {
    let sets = |word: &&str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || b"_0123456789".contains(&byte))
    };
    let mut words = command.split_whitespace().skip_while(sets);
    let first = words.next().unwrap_or_default();
    words.next().filter(|next| first == "sudo" && !next.starts_with('-')).unwrap_or(first)
}

fn causes() -> impl Iterator<Item = (&'static Signature, &'static Cause)> {
    catalog().signatures().all().iter().flat_map(|one| one.causes.iter().map(move |cause| (one, cause)))
}

#[test]
fn every_confirm_is_a_command() {
    let words = |cause: &'static Cause| cause.confirm.map_or(Vec::new(), commands);
    let wrong: Vec<String> = causes()
        .flat_map(|(one, cause)| words(cause).into_iter().map(move |command| (one.id, command)))
        .filter(|(_, command)| !is_program(program(command)))
        .map(|(id, command)| format!("{id}: {command}"))
        .collect();
    assert!(wrong.is_empty(), "move to `look_at`, or add the program to PROGRAMS: {wrong:#?}");
    assert!(is_program(program(commands("NCCL_DEBUG=INFO torchrun SCRIPT")[0])));
    assert_eq!(commands("sudo grep -E 'a|b;c' FILE | wc -l; date").len(), 3);
    assert_eq!(program("sudo dmesg"), "dmesg");
    for text in ["the traceback", "whether it runs", "NCCL_DEBUG=WARN", "try again in some minutes"] {
        assert!(!is_program(program(text)), "{text}");
    }
}

#[test]
fn what_to_look_at_is_no_command() {
    let command = |text: &str| is_program(program(text)) || text.contains('`') || text.contains("$(");
    let wrong: Vec<&str> =
        causes().filter_map(|(_, cause)| cause.look_at).filter(|text| command(text)).collect();
    assert!(wrong.is_empty(), "move to `confirm`: {wrong:#?}");
}

/// Whether a fix has a command in its sentence.
fn has_command(fix: &str) -> bool {
    let words: Vec<&str> = fix.split([' ', ',', ';', '.', ':']).collect();
    let runs = |pair: &[&str]| matches!(pair[0], "Run" | "run") && is_program(pair[1]);
    fix.contains('`') || fix.contains("$(") || words.windows(2).any(runs)
}

#[test]
fn fixes_have_their_commands_in_commands() {
    let wrong: Vec<String> = causes()
        .filter(|(_, cause)| has_command(cause.fix))
        .map(|(one, cause)| format!("{}: {}", one.id, cause.fix))
        .collect();
    assert!(wrong.is_empty(), "move the command to `commands`: {wrong:#?}");
    for (_, cause) in causes() {
        assert_eq!(cause.fix.ends_with(':'), !cause.commands.is_empty(), "{}", cause.fix);
    }
    assert!(
        has_command("Fix that error, then run dpkg --configure -a.") && has_command("Run eval $(ssh-agent).")
    );
    assert!(!has_command("Run the job on a GPU without a display."));
}
