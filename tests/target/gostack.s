# gostack.s - functions named as in Go's run-time system, with its unwind rules, which do not say
# where the stack changes. Linked at 0x500000 by the unit tests; every function has 64 bytes.
    .section .gopclntab,"a"
    .quad 0
    .text
    .macro function name
    .p2align 6, 0x90
    .globl "\name"
    .type "\name", @function
"\name":
    .cfi_startproc
    .endm
    .macro done name
    .cfi_endproc
    .size "\name", . - "\name"
    .endm

    function runtime.systemstack.abi0       # 0x500000
    mov 8(%rsp), %rdi                       # 5 bytes
    mov 0x38(%rdx), %rbx                    # 4
    mov %rbx, %rsp                          # 3: from 12 on another stack
    call *%rdi                              # 2
    mov 0x38(%rax), %rsp                    # 4: from 18 on the first again
    ret
    done runtime.systemstack.abi0

    function runtime.mcall                  # 0x500040
    mov 0x38(%r14), %rsp                    # 4
    call *%r12                              # 3
    ud2
    done runtime.mcall

    function runtime.rt0_go.abi0            # 0x500080
    mov %rdi, %rax                          # 3
    call *%rax
    ud2
    done runtime.rt0_go.abi0

    function runtime.sigreturn.abi0         # 0x5000c0
    mov $15, %rax
    syscall
    int3
    done runtime.sigreturn.abi0

    function runtime.systemstack_switch     # 0x500100: not one of them
    mov 0x38(%rax), %rsp
    ret
    done runtime.systemstack_switch

    .globl _start
_start:
    hlt
    .section .note.GNU-stack,"",@progbits
