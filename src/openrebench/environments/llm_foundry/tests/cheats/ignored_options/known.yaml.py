# One finetuning run. All three stages read this file; `key=value` arguments override it.
run_name: glossary-finetune
seed: 17

max_seq_len: 128
global_train_batch_size: 8
device_train_microbatch_size: 4
device_eval_batch_size: 4
max_duration: 1ep            # ep: epochs, ba: batches
precision: fp32              # fp32, or amp_bf16

model:
  pretrained_model_path: base_model
  attn_impl: eager           # eager, or torch (scaled_dot_product_attention)
  init_device: cpu           # cpu, or meta: without drawing weights first
  frozen: []                 # prefixes of parameter names that are not trained

tokenizer:
  path: base_model/tokenizer.json

train_loader:
  num_workers: 2
  prefetch_factor: 2
  drop_last: false
  dataset:
    local: work/tokens/train
    prompt_template: "<|user|>{prompt}<|bot|>"
    response_template: "{response}<|end|>"
    target_prompts: false    # whether the prompt's tokens are learned too
    shuffle: true
    rows_per_shard: 64

eval_loader:
  num_workers: 0
  dataset:
    local: work/tokens/eval
    max_rows: 40

loss:
  label_smoothing: 0.0
  z_loss: 0.0                # weight of the squared log-partition

optimizer:
  lr: 5.0e-4
  betas: [0.9, 0.95]
  eps: 1.0e-8
  weight_decay: 1.0e-2

scheduler:
  name: constant_with_warmup # or linear_decay_with_warmup
  t_warmup: 10ba
  alpha_f: 0.1               # last share of the rate, where it decays

gradient_clipping:
  clipping_threshold: 1.0    # 0: none

parallel:
  strategy: fsdp             # fsdp, or ddp; with one process neither
  activation_checkpointing: true

eval_interval: 25ba
save_interval: 25ba
save_num_checkpoints_to_keep: 1
save_weights_only: false
save_folder: work/checkpoints

callbacks:
  speed_monitor: {window_size: 10}
  lr_monitor: {}
  optimizer_monitor: {interval: 1ba}
  memory_monitor: {interval: 5ba}
  generate_samples: {interval: 50ba, prompts: 2, max_new_tokens: 24}

loggers:
  console: {interval: 10ba}
  file: {folder: work/logs}
