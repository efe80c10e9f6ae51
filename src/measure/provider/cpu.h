// Instruction sets, as far as the code of the libraries chooses by them.
#pragma once

namespace pqedge::measure::cpu {

#if defined(__x86_64__) || defined(__i386__)
inline bool avx2() { return __builtin_cpu_supports("avx2"); }
inline bool bmi2() { return __builtin_cpu_supports("bmi2"); }
inline bool avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
inline bool avx512_ifma() { return avx512() && __builtin_cpu_supports("avx512ifma"); }
inline bool vaes() {
  return __builtin_cpu_supports("vaes") && __builtin_cpu_supports("vpclmulqdq");
}
inline bool aes() { return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul"); }
inline bool adx() { return bmi2() && __builtin_cpu_supports("adx"); }
inline bool sha() { return __builtin_cpu_supports("sha"); }
inline constexpr bool kX86 = true;
#else
inline bool avx2() { return false; }
inline bool bmi2() { return false; }
inline bool avx512() { return false; }
inline bool avx512_ifma() { return false; }
inline bool avx512_ifma() { return avx512() && __builtin_cpu_supports("avx512ifma"); }
inline bool vaes() { return false; }
inline bool aes() { return false; }
inline bool adx() { return false; }
inline bool sha() { return false; }
inline constexpr bool kX86 = false;
#endif

}  // namespace pqedge::measure::cpu
