//! The list of checks, in the order of the report: group by group, the most fundamental fault first.

use super::*;

/// Every check.
pub const CHECKS: &[&Check] = &[
    // system
    &clock_in_the_past::CHECK,
    &clock_not_synchronised::CHECK,
    &role_not_as_expected::CHECK,
    &unsupported_architecture::CHECK,
    &wsl_version_1::CHECK,
    &shared_memory_too_small::CHECK,
    &memlock_too_small::CHECK,
    &open_files_limit_too_small::CHECK,
    &cgroup_memory_limit_small::CHECK,
    &out_of_memory_kills::CHECK,
    // pci
    // driver
    &driver_library_mismatch::CHECK,
    // gpu
    &nvidia_smi_hangs::CHECK,
    &nvidia_smi_fails::CHECK,
    &gpu_fallen_off_bus::CHECK,
    &gpu_count_differs::CHECK,
    &gpu_needs_reset::CHECK,
    &row_remap_failed::CHECK,
    &ecc_uncorrected_errors::CHECK,
    &xid_errors::CHECK,
    &row_remap_pending::CHECK,
    &retired_pages_pending::CHECK,
    &ecc_disabled::CHECK,
    &inforom_corrupted::CHECK,
    &compute_mode_prohibited::CHECK,
    &gpu_throttled::CHECK,
    &mixed_gpu_models::CHECK,
    &mig_mode_on::CHECK,
    &mig_change_pending::CHECK,
    &persistence_mode_off::CHECK,
    // fabric
    &fabric_manager_missing::CHECK,
    &fabric_manager_version_mismatch::CHECK,
    &fabric_manager_down::CHECK,
    &fabric_not_completed::CHECK,
    &nvlink_inactive::CHECK,
    &nvswitch_errors::CHECK,
    // cuda
    // nccl
    // docker
    &docker_nvidia_runtime_missing::CHECK,
    &docker_nvidia_runtime_path_wrong::CHECK,
    &swarm_without_nvidia_default_runtime::CHECK,
    &swarm_with_live_restore::CHECK,
    &systemd_reload_loses_gpus::CHECK,
    &cgroup_driver_mismatch::CHECK,
    &data_root_too_small::CHECK,
    &docker_storage_driver_slow::CHECK,
    &docker_proxy_missing::CHECK,
    &docker_engine_warnings::CHECK,
    &podman_in_place_of_docker::CHECK,
    &docker_too_old_for_gpus::CHECK,
    &docker_too_old_for_cdi::CHECK,
    &docker_end_of_life::CHECK,
    &docker_vulnerable::CHECK,
    &docker_from_snap::CHECK,
    &docker_rootless::CHECK,
    &daemon_json_not_applied::CHECK,
    &docker_missing::CHECK,
    &docker_not_running::CHECK,
    &docker_permission_denied::CHECK,
    &docker_host_elsewhere::CHECK,
    &daemon_json_invalid::CHECK,
    &daemon_json_unknown_key::CHECK,
    &daemon_json_flag_conflict::CHECK,
    &live_container_fails::CHECK,
    // toolkit
    &live_gpu_missing::CHECK,
    // network
    &hostname_resolves_to_loopback::CHECK,
    &hostname_unresolvable::CHECK,
    &name_server_missing::CHECK,
    &nccl_interface_missing::CHECK,
    &nccl_interface_ambiguous::CHECK,
    &mtu_differs::CHECK,
    &swarm_ports_blocked::CHECK,
    &proxy_without_exceptions::CHECK,
    // rdma
    &rdma_missing::CHECK,
    &rdma_port_down::CHECK,
    &rdma_rates_differ::CHECK,
    &rdma_device_nodes_missing::CHECK,
    &peermem_module_missing::CHECK,
    // python
    &torch_cuda_newer_than_driver::CHECK,
    &torch_cpu_only::CHECK,
    &torch_lacks_gpu_architecture::CHECK,
    &torchvision_mismatch::CHECK,
    &torchaudio_mismatch::CHECK,
    &triton_mismatch::CHECK,
    // environment
];
