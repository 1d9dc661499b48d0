/*
 * tiny_elf.h - the smallest ELF file with unwind rules, made by hand.
 *
 * One segment from address 0 on, no section headers; one function of 0x100 bytes at 0x40.
 */
#pragma once
#include "base/text.h"

#include <elf.h>

struct tiny {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    uint8_t frame_header[8];
    uint8_t frames[4096];
};

static inline void tiny_init(struct tiny *t, uint16_t machine)
{
    *t = (struct tiny){
        .head = {.e_type = ET_DYN,
                 .e_machine = machine,
                 .e_phoff = offsetof(struct tiny, segments),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 2},
        .segments =
            {{.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = sizeof *t, .p_memsz = sizeof *t},
             {.p_type = PT_GNU_EH_FRAME,
              .p_offset = offsetof(struct tiny, frame_header),
              .p_vaddr = offsetof(struct tiny, frame_header),
              .p_filesz = 8}},
        /* version 1; the address is a signed 32-bit distance from where it stands */
        .frame_header = {1, 0x1b, 0xff, 0xff, 4, 0, 0, 0},
    };
    memcpy(t->head.e_ident, "\177ELF\2\1\1", 7);
}

/* A CIE and an FDE with these programs. Returns the size of the file. */
static inline size_t tiny_frames(struct tiny *t, struct text cie, struct text fde)
{
    /* id, version, no augmentation, code by 1, data by -8, column of the return address */
    uint8_t ra = t->head.e_machine == EM_X86_64 ? 16 : 30;
    const uint8_t cie_head[] = {0, 0, 0, 0, 1, 0, 1, 0x78, ra};
    static const uint8_t range[] = {0x40, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    uint32_t cie_n = (uint32_t)(sizeof cie_head + cie.n), fde_n = (uint32_t)(4 + 16 + fde.n);
    uint32_t back = 4 + cie_n + 4;
    uint8_t *at = t->frames;
    memcpy(at, &cie_n, 4);
    memcpy(at + 4, cie_head, sizeof cie_head);
    memcpy(at + 4 + sizeof cie_head, cie.at, cie.n);
    at += 4 + cie_n;
    memcpy(at, &fde_n, 4);
    memcpy(at + 4, &back, 4);
    memcpy(at + 8, range, 16);
    memcpy(at + 24, fde.at, fde.n);
    return sizeof *t;
}
