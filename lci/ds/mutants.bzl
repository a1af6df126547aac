"""Errors to plant in the structures: each mutant has its header, the text to change and the replacement."""

MUTANTS = {
    "array_publish_unordered": (
        "array_queue.h",
        "mine.sequence.store(ticket + 1, std::memory_order_release)",
        "mine.sequence.store(ticket + 1, std::memory_order_relaxed)",
    ),
    "array_take_unordered": (
        "array_queue.h",
        "oldest.sequence.load(std::memory_order_acquire)",
        "oldest.sequence.load(std::memory_order_relaxed)",
    ),
    "array_pop_unordered": (
        "array_queue.h",
        "oldest.sequence.store(ticket + capacity(), std::memory_order_release)",
        "oldest.sequence.store(ticket + capacity(), std::memory_order_relaxed)",
    ),
    "array_push_over": (
        "array_queue.h",
        "if (sequence == ticket) {",
        "if (sequence <= ticket) {",
    ),
    "array_pop_early": (
        "array_queue.h",
        "if (sequence == ticket + 1) {",
        "if (sequence >= ticket) {",
    ),
    "owner_no_process_barrier": (
        "ownership.h",
        "took = Atomics::process_barrier();",
        "took(0);",
    ),
    "owner_no_light_barrier": (
        "ownership.h",
        "Atomics::light_barrier();",
        "",
    ),
    "owner_no_second_look": (
        "ownership.h",
        "if (__builtin_expect(owner_.load(std::memory_order_relaxed) != owner, 0)) {",
        "if (false) {",
    ),
    "owner_not_revoked": (
        "ownership.h",
        "owner_.store(ending, std::memory_order_relaxed);",
        "",
    ),
    "owner_leave_unordered": (
        "ownership.h",
        "std::memory_order_release);  // B1",
        "std::memory_order_relaxed);",
    ),
    "owner_enter_unordered": (
        "ownership.h",
        "inside_[slot].load(std::memory_order_acquire)",
        "inside_[slot].load(std::memory_order_relaxed)",
    ),
    "owner_withdraw_unordered": (
        "ownership.h",
        "std::memory_order_release);  // B3",
        "std::memory_order_relaxed);",
    ),
    "owner_not_withdrawn": (
        "ownership.h",
        "inside_[slot].store(false, std::memory_order_release);  // B3",
        "",
    ),
    "owned_no_light_barrier": (
        "owned_ring.h",
        "Atomics::light_barrier();  // C",
        "",
    ),
    "owned_no_second_look": (
        "owned_ring.h",
        "owner.load(std::memory_order_relaxed) == me",
        "owner.load(std::memory_order_relaxed) == me || true",
    ),
    "owned_late_head": (
        "owned_ring.h",
        "if (still_mine(pusher_, me) != result::ok) return result::not_owner;  // C",
        "",
    ),
    "owned_push_unordered": (
        "owned_ring.h",
        "tail_.store(last + 1, std::memory_order_release)",
        "tail_.store(last + 1, std::memory_order_relaxed)",
    ),
    "owned_pop_unordered": (
        "owned_ring.h",
        "head_.store(ticket + 1, std::memory_order_release)",
        "head_.store(ticket + 1, std::memory_order_relaxed)",
    ),
    "owned_not_disowned": (
        "owned_ring.h",
        "pusher_.store(nobody, std::memory_order_relaxed);",
        "",
    ),
    "owned_popper_not_disowned": (
        "owned_ring.h",
        "popper_.store(nobody, std::memory_order_relaxed);",
        "",
    ),
    "owned_push_counted": (
        "owned_ring.h",
        "tail_.load(std::memory_order_relaxed) <= end_",
        "true",
    ),
    "owned_pop_not_counted": (
        "owned_ring.h",
        "head_.load(std::memory_order_relaxed) <= begin_",
        "false",
    ),
    "owned_seal_unordered": (
        "owned_ring.h",
        "tail_.load(std::memory_order_acquire);  // A3",
        "tail_.load(std::memory_order_relaxed);",
    ),
    "owned_push_unseen": (
        "owned_ring.h",
        "return returned_.load(std::memory_order_acquire) !=",
        "return false && returned_.load(std::memory_order_acquire) !=",
    ),
    "lcrq_push_unseen": (
        "lcrq.h",
        "mine_.pushing.store(true, std::memory_order_relaxed);",
        "",
    ),
    "hazard_end_unordered": (
        "hazard.h",
        "thing_.store(0, std::memory_order_release); }  // D1",
        "thing_.store(0, std::memory_order_relaxed); }",
    ),
    "hazard_mark_unordered": (
        "hazard.h",
        "is_used_.exchange(1, std::memory_order_acq_rel);  // M1",
        "is_used_.exchange(1, std::memory_order_relaxed);",
    ),
    "hazard_mark_unseen": (
        "hazard.h",
        "is_used_.load(std::memory_order_acquire) != 0",
        "is_used_.load(std::memory_order_relaxed) != 0",
    ),
    "hazard_no_light_barrier": (
        "hazard.h",
        "Atomics::light_barrier();  // C",
        "",
    ),
    "hazard_no_process_barrier": (
        "hazard.h",
        "if (Atomics::has_process_barrier()) Atomics::process_barrier();",
        "",
    ),
    "hazard_not_announced": (
        "hazard.h",
        "thing_.store(thing + 1, std::memory_order_relaxed);",
        "thing_.store(thing + 2, std::memory_order_relaxed);",
    ),
    "lcrq_no_process_barrier": (
        "lcrq.h",
        "Atomics::process_barrier();",
        "",
    ),
    "lcrq_segment_dropped_early": (
        "lcrq.h",
        "if (!is_drained) return true;",
        "if (!is_drained && false) return true;",
    ),
    "ring_slot_kept": (
        "exchange_ring.h",
        "*slot = free_slot;",
        "",
    ),
    "ring_hint_beyond": (
        "exchange_ring.h",
        "to.store(ticket, std::memory_order_release)",
        "to.store(ticket + 1, std::memory_order_release)",
    ),
    "mpmc_get_unordered": (
        "mpmc_array.h",
        "current_.load(std::memory_order_acquire)",
        "current_.load(std::memory_order_relaxed)",
    ),
    "mpmc_grow_unordered": (
        "mpmc_array.h",
        "current_.store(grown, std::memory_order_release)",
        "current_.store(grown, std::memory_order_relaxed)",
    ),
    "bypass_no_light_barrier": (
        "lock_bypass.h",
        "Atomics::light_barrier();",
        "",
    ),
    "bypass_no_process_barrier": (
        "lock_bypass.h",
        "Atomics::process_barrier();",
        "",
    ),
    "bypass_does_not_wait": (
        "lock_bypass.h",
        "while (owner_.is_anybody_inside()) backoff.idle();",
        "(void)backoff;",
    ),
    "owner_freed_unordered": (
        "ownership.h",
        "owner_.store(nobody, std::memory_order_release);",
        "owner_.store(nobody, std::memory_order_relaxed);",
    ),
    "bypass_lock_not_seen": (
        "lock_bypass.h",
        "has_it_ = !lock_.is_locked();",
        "has_it_ = true;",
    ),
    "walk_does_not_leave": (
        "lock_bypass.h",
        "if (inside_ != nullptr) inside_->owner_.leave(slot_);",
        "",
    ),
    "bypass_lock_not_seen_in_between": (
        "lock_bypass.h",
        "return __builtin_expect(!lock.is_locked(), 1);",
        "return static_cast<void>(lock), true;",
    ),
    "lock_not_exclusive": (
        "spinlock.h",
        "!locked_.exchange(true, std::memory_order_acquire);",
        "(locked_.store(true), true);",
    ),
    "lock_unordered": (
        "spinlock.h",
        "locked_.store(false, std::memory_order_release)",
        "locked_.store(false, std::memory_order_relaxed)",
    ),
    "objects_taken_twice": (
        "object_pool.h",
        "depot_ = depot_->next_batch;",
        "",
    ),
    "pool_get_twice": (
        "stealing_pool.h",
        "mine.slot(--mine.top).exchange(nullptr, std::memory_order_acquire)",
        "mine.slot(--mine.top).load(std::memory_order_acquire)",
    ),
    "pool_put_unordered": (
        "stealing_pool.h",
        "mine.slot(mine.top++).store(element, std::memory_order_release)",
        "mine.slot(mine.top++).store(element, std::memory_order_relaxed)",
    ),
    "ticket_unordered": (
        "ticket_table.h",
        "s.word.store(make_word(generation, owner), std::memory_order_release)",
        "s.word.store(make_word(generation, owner), std::memory_order_relaxed)",
    ),
    "ticket_again": (
        "ticket_table.h",
        "(generation_of(expected) + 1)",
        "(generation_of(expected) + 0)",
    ),
    "thread_arrival_unordered": (
        "thread_barrier.h",
        "arrived_.fetch_add(1, std::memory_order_acq_rel);  // A",
        "arrived_.fetch_add(1, std::memory_order_relaxed);",
    ),
    "thread_full_round_broken": (
        "thread_barrier.h",
        "(seen & ~broken) >> round_shift < round;",
        "(seen & ~broken) >> round_shift <= round;",
    ),
    "thread_open_unordered": (
        "thread_barrier.h",
        "opened_.store(round, std::memory_order_release); }  // B1",
        "opened_.store(round, std::memory_order_relaxed); }",
    ),
    "gate_end_unordered": (
        "write_gate.h",
        "target_.store(0, std::memory_order_release);  // D1",
        "target_.store(0, std::memory_order_relaxed);",
    ),
    "gate_look_unordered": (
        "write_gate.h",
        "is_closed_.load(std::memory_order_seq_cst) != 0; }  // W2",
        "is_closed_.load(std::memory_order_acquire) != 0; }",
    ),
    "gate_not_announced": (
        "write_gate.h",
        "target_.store(owner + 1, std::memory_order_seq_cst);  // W1",
        "static_cast<void>(owner);",
    ),
    "gate_writer_unseen": (
        "write_gate.h",
        "target_.load(std::memory_order_seq_cst) == owner + 1;  // C2",
        "target_.load(std::memory_order_acquire) == owner + 1;",
    ),
    "ticket_aba": (
        "ticket_table.h",
        "free_.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | index,",
        "free_.compare_exchange_weak(head, head >> 32 << 32 | index,",
    ),
}
