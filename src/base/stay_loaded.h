// base/stay_loaded.h - keeps this library in memory for as long as its threads run, whoever closes it.
#pragma once

namespace sardonyx {

// A program may close the library (dlclose) and have forgotten a session whose workers still sleep: they must not wake
// in memory that is gone. Who starts a thread calls HoldLibrary before, and the thread calls MoveHoldToThisThread
// first of all: from there on the system keeps the library until the thread has ended.
void HoldLibrary() noexcept;
void MoveHoldToThisThread() noexcept;
void ReleaseHold() noexcept;  // where the thread could not be started

}  // namespace sardonyx
