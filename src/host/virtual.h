/*
 * virtual.h - whether this is a virtual machine, a container, or both.
 */
#pragma once
#include <stddef.h>

/* "none", a hypervisor's name, or "not known". */
void virtual_hypervisor(const char *root, char *ret, size_t n);

/* "none" or what runs the container: "docker", "podman", "kubernetes", "lxc"... */
void virtual_container(const char *root, char *ret, size_t n);
