//! Rules about accelerate's configuration.

pub(crate) mod accelerate_config_refused;
pub(crate) mod accelerate_machines_do_not_meet;
pub(crate) mod accelerate_process_count_wrong;
pub(crate) mod weights_not_gathered_by_accelerate;
pub(crate) mod wrapped_class_of_other_model;
