//! The checks of one machine. The order of [`CHECKS`] is the order of the report.

mod list;

mod acs_blocks_peer_to_peer;
mod cdi_spec_invalid;
mod cdi_spec_missing;
mod cdi_spec_stale;
mod cgroup_driver_mismatch;
mod cgroup_memory_limit_small;
mod clock_in_the_past;
mod clock_not_synchronised;
mod closed_module_on_open_only_gpu;
mod compute_mode_prohibited;
mod cuda_compat_unusable;
mod cuda_home_broken;
mod cuda_home_mismatch;
mod cuda_toolkit_too_new_for_gpu;
mod cuda_visible_devices_hides_gpus;
mod cudnn_shadowed;
mod daemon_json_flag_conflict;
mod daemon_json_invalid;
mod daemon_json_not_applied;
mod daemon_json_unknown_key;
mod data_root_too_small;
mod debug_variable_left_on;
mod deepspeed_incompatible;
mod device_nodes_missing;
mod docker_desktop_without_gpu;
mod docker_end_of_life;
mod docker_engine_warnings;
mod docker_from_snap;
mod docker_host_elsewhere;
mod docker_missing;
mod docker_not_running;
mod docker_nvidia_runtime_missing;
mod docker_nvidia_runtime_path_wrong;
mod docker_permission_denied;
mod docker_proxy_missing;
mod docker_rootless;
mod docker_storage_driver_slow;
mod docker_too_old_for_cdi;
mod docker_too_old_for_gpus;
mod docker_vulnerable;
mod driver_branch_end_of_life;
mod driver_differs_from_expected;
mod driver_libraries_not_injected;
mod driver_library_broken;
mod driver_library_mismatch;
mod driver_module_not_built;
mod driver_reboot_pending;
mod driver_stub_library;
mod driver_too_new_for_gpu;
mod driver_too_old_for_cuda_toolkit;
mod driver_too_old_for_gpu;
mod duplicate_distribution;
mod ecc_disabled;
mod ecc_uncorrected_errors;
mod fabric_manager_down;
mod fabric_manager_missing;
mod fabric_manager_version_mismatch;
mod fabric_not_completed;
mod gpu_board_incomplete;
mod gpu_count_differs;
mod gpu_fallen_off_bus;
mod gpu_missing_from_bus;
mod gpu_needs_reset;
mod gpu_not_answering_on_bus;
mod gpu_throttled;
mod gpu_without_driver;
mod hostname_resolves_to_loopback;
mod hostname_unresolvable;
mod inforom_corrupted;
mod iommu_translates_peer_to_peer;
mod ld_library_path_stubs;
mod linux_driver_in_wsl;
mod live_container_fails;
mod live_gpu_missing;
mod memlock_too_small;
mod mig_change_pending;
mod mig_mode_on;
mod mixed_cuda_wheels;
mod mixed_gpu_models;
mod mtu_differs;
mod name_server_missing;
mod nccl_conf_overrides;
mod nccl_differs_from_expected;
mod nccl_hca_wrong;
mod nccl_header_mismatch;
mod nccl_interface_ambiguous;
mod nccl_interface_missing;
mod nccl_known_bad;
mod nccl_older_than_torch;
mod nccl_shadowed;
mod nccl_transport_disabled;
mod nccl_variable_deprecated;
mod nccl_variable_removed;
mod nccl_variable_unknown;
mod nouveau_bound;
mod nvcc_torch_cuda_mismatch;
mod nvidia_smi_fails;
mod nvidia_smi_hangs;
mod nvidia_smi_missing;
mod nvidia_visible_devices_void;
mod nvlink_inactive;
mod nvswitch_errors;
mod open_files_limit_too_small;
mod open_module_on_older_gpu;
mod out_of_memory_kills;
mod pcie_link_narrow;
mod pcie_link_slow;
mod peermem_module_missing;
mod persistence_mode_off;
mod podman_in_place_of_docker;
mod proxy_without_exceptions;
mod python_index_not_trusted;
mod rdma_device_nodes_missing;
mod rdma_missing;
mod rdma_port_down;
mod rdma_rates_differ;
mod reboot_pending;
mod retired_pages_pending;
mod role_not_as_expected;
mod row_remap_failed;
mod row_remap_pending;
mod secure_boot_blocks_driver;
mod several_driver_libraries;
mod several_nccl;
mod shared_memory_too_small;
mod ssl_bundle_missing;
mod swarm_address_stale;
mod swarm_ports_blocked;
mod swarm_with_live_restore;
mod swarm_without_nvidia_default_runtime;
mod systemd_reload_loses_gpus;
mod toolkit_cgroups_disabled;
mod toolkit_config_invalid;
mod toolkit_driver_root_wrong;
mod toolkit_from_retired_packages;
mod toolkit_hook_missing;
mod toolkit_missing;
mod toolkit_packages_differ;
mod toolkit_too_old;
mod toolkit_vulnerable;
mod torch_cpu_only;
mod torch_cuda_newer_than_driver;
mod torch_lacks_gpu_architecture;
mod torch_nccl_missing;
mod torchaudio_mismatch;
mod torchvision_mismatch;
mod triton_mismatch;
mod unsupported_architecture;
mod user_site_shadows_torch;
mod uvm_module_missing;
mod variable_out_of_range;
mod virtual_env_not_in_use;
mod wsl_version_1;
mod xid_errors;

pub use list::{CHECKS, IMAGE_CHECKS};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::ids_of_files;

    #[test]
    fn every_check_file_is_registered_under_its_id() {
        let ids: BTreeSet<String> = CHECKS.iter().map(|check| check.id.to_owned()).collect();
        let files: BTreeSet<String> =
            ids_of_files("server", "rs").into_iter().filter(|id| id != "mod" && id != "list").collect();
        assert_eq!(files, ids, "files of src/server on the left, ids of CHECKS on the right");
        assert_eq!(ids_of_files("server", "md"), ids, "explanations on the left, ids of CHECKS on the right");
        assert_eq!(ids.len(), CHECKS.len(), "duplicate id");
    }

    #[test]
    fn every_check_has_a_summary_and_all_explanation_headings() {
        for check in CHECKS {
            let id = check.id;
            assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{id}");
            assert!(
                !check.summary.is_empty() && !check.summary.ends_with('.') && check.summary.len() <= 90,
                "{id}: summary"
            );
            let mut at = 0;
            for heading in
                ["## What it checks\n", "## Why it matters\n", "## How to fix it\n", "## Sources\n"]
            {
                let found = check.explain[at..].find(heading);
                at += found.unwrap_or_else(|| panic!("{id}: {heading:?} is missing or out of order"));
            }
            assert!(
                !check.explain.lines().any(|line| line.len() > 110),
                "{id}: a line of explain is too long"
            );
        }
    }

    #[test]
    fn the_list_is_in_the_order_of_the_groups() {
        let order: Vec<usize> = CHECKS.iter().map(|check| check.group as usize).collect();
        assert!(order.is_sorted(), "CHECKS must stand group by group in the order of Group");
    }
}
