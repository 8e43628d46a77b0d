//! Rules about Kubernetes manifests.

/// A pod as an example: the resources of its container, and further keys of the container.
macro_rules! pod {
    ($resources:literal) => {
        crate::rule::named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n",
                "      image: b\n      resources:\n        ",
                $resources,
                "\n"
            ),
        )
    };
}

/// A Job as an example: the keys of its pod.
macro_rules! job {
    ($spec:literal, $pod:literal) => {
        crate::rule::named(
            "job.yaml",
            concat!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n",
                $spec,
                "  template:\n    spec:\n      restartPolicy: Never\n",
                $pod
            ),
        )
    };
}

/// An MPIJob of two workers as an example: a key of its specification, ranks of mpirun, GPUs of a worker.
macro_rules! mpi {
    ($spec:literal, $ranks:literal, $gpus:literal) => {
        crate::rule::named(
            "mpijob.yaml",
            concat!(
                "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  ",
                $spec,
                "\n  mpiReplicaSpecs:\n    Launcher:\n      template:\n        spec:\n",
                "          containers:\n",
                "            - name: a\n              image: b\n              command: [mpirun, -np, ",
                $ranks,
                ", ./test]\n    Worker:\n      replicas: 2\n      template:\n        spec:\n",
                "          containers:\n            - name: a\n              image: b\n",
                "              resources: {limits: {nvidia.com/gpu: ",
                $gpus,
                "}}\n"
            ),
        )
    };
}

pub(crate) mod api_version_wrong;
pub(crate) mod argo_parameter_unresolved;
pub(crate) mod autoscaler_without_request;
pub(crate) mod batch_object_refused;
pub(crate) mod claim_misses_volume;
pub(crate) mod config_key_missing;
pub(crate) mod container_command_in_one_word;
pub(crate) mod container_entrypoint_repeated;
pub(crate) mod container_model_path_not_mounted;
pub(crate) mod container_operator_without_shell;
pub(crate) mod container_server_share_invalid;
pub(crate) mod container_shell_script_cut_off;
pub(crate) mod container_variable_not_expanded;
pub(crate) mod custom_resource_refused;
pub(crate) mod dns_forbidden;
pub(crate) mod extended_resource_invalid;
pub(crate) mod file_mode_decimal;
pub(crate) mod gpu_resource_renamed;
pub(crate) mod gpu_too_old_for_option;
pub(crate) mod grace_period_too_short;
pub(crate) mod helm_template_invalid;
pub(crate) mod huge_pages_invalid;
pub(crate) mod init_output_lost;
pub(crate) mod job_replicas_differ;
pub(crate) mod liveness_before_loaded;
pub(crate) mod locked_memory_missing;
pub(crate) mod manifest_key_invalid;
pub(crate) mod manifest_unreadable;
pub(crate) mod manifest_value_refused;
pub(crate) mod mig_profile_of_other_gpu;
pub(crate) mod mig_resource_not_offered;
pub(crate) mod mounted_script_not_executable;
pub(crate) mod mpi_slots_exceed_gpus;
pub(crate) mod non_root_as_root;
pub(crate) mod ordered_start_waits;
pub(crate) mod patch_target_missing;
pub(crate) mod pod_ends_at_once;
pub(crate) mod pod_gpu_count_differs;
pub(crate) mod pod_gpu_missing;
pub(crate) mod pod_home_of_root_mounted;
pub(crate) mod pod_name_invalid;
pub(crate) mod pod_output_mount_read_only;
pub(crate) mod pod_output_not_mounted;
pub(crate) mod pod_peer_unresolved;
pub(crate) mod pod_port_taken;
pub(crate) mod pod_port_unserved;
pub(crate) mod pod_server_on_loopback;
pub(crate) mod pod_shared_memory_small;
pub(crate) mod quantity_invalid;
pub(crate) mod queue_resources_uncovered;
pub(crate) mod ray_gpus_differ;
pub(crate) mod reference_unresolved;
pub(crate) mod restart_policy_refused;
pub(crate) mod runtime_class_unknown;
pub(crate) mod secret_data_invalid;
pub(crate) mod selector_mismatch;
pub(crate) mod service_variable_collides;
pub(crate) mod toleration_misses_taint;
pub(crate) mod variable_defined_later;
pub(crate) mod volume_bound_to_one_node;
pub(crate) mod volume_mount_invalid;
