#include "base/lazy/library.inc"

/* Where the first call of each function comes: loads it (load.cc), and goes on there. Its data are at r11. All registers
   in which arguments are passed are kept. The stack is aligned for the call: 8 bytes of the return address, 56 of the
   registers, 128 here. */
.text
.balign 16
.globl headrace_lazy_first_call
.hidden headrace_lazy_first_call
.type headrace_lazy_first_call, @function
headrace_lazy_first_call:
.cfi_startproc
pushq %rax
pushq %rdi
pushq %rsi
pushq %rdx
pushq %rcx
pushq %r8
pushq %r9
subq $128, %rsp
.cfi_def_cfa_offset 192
movups %xmm0, (%rsp)
movups %xmm1, 16(%rsp)
movups %xmm2, 32(%rsp)
movups %xmm3, 48(%rsp)
movups %xmm4, 64(%rsp)
movups %xmm5, 80(%rsp)
movups %xmm6, 96(%rsp)
movups %xmm7, 112(%rsp)
movq %r11, %rdi
call headrace_lazy_load
movq %rax, %r11
movups (%rsp), %xmm0
movups 16(%rsp), %xmm1
movups 32(%rsp), %xmm2
movups 48(%rsp), %xmm3
movups 64(%rsp), %xmm4
movups 80(%rsp), %xmm5
movups 96(%rsp), %xmm6
movups 112(%rsp), %xmm7
addq $128, %rsp
popq %r9
popq %r8
popq %rcx
popq %rdx
popq %rsi
popq %rdi
popq %rax
.cfi_def_cfa_offset 8
jmp *%r11
.cfi_endproc
.size headrace_lazy_first_call, . - headrace_lazy_first_call
