//! A first `ds_config.json`.

use serde_json::json;

use crate::plan::ClusterPlan;

/// Samples that a GPU takes at once, and steps whose gradients are summed before an update: small enough for
/// any model that fits at all.
const MICRO_BATCH: u32 = 1;
const ACCUMULATION: u32 = 8;

/// The file: DeepSpeed insists that train_batch_size = micro batch × accumulation × world size, so the three
/// are written for this cluster.
pub(super) fn ds_config(plan: &ClusterPlan) -> String {
    let whole = u64::from(MICRO_BATCH) * u64::from(ACCUMULATION) * u64::from(plan.world_size());
    let config = json!({
        "train_batch_size": whole,
        "train_micro_batch_size_per_gpu": MICRO_BATCH,
        "gradient_accumulation_steps": ACCUMULATION,
        "gradient_clipping": 1.0,
        "zero_optimization": { "stage": 2, "overlap_comm": true, "contiguous_gradients": true },
    });
    format!("{config:#}\n")
}
