#include "host/virtual.h"
#include "host/sysfile.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define HAS_CPUID 1
#else
#define HAS_CPUID 0
#endif

struct naming {
    const char *mark, *name;
};

/* The NAME of the first row whose mark TEXT has in it, or NULL. */
static const char *virtual_name_of(const struct naming *rows, const char *text)
{
    for (; rows->mark; rows++)
        if (strstr(text, rows->mark))
            return rows->name;
    return NULL;
}

/* --- virtual machines --- */

/* Twelve bytes that hypervisors put into cpuid leaf 0x40000000. */
static const char *cpuid_name(void)
{
#if HAS_CPUID
    static const struct naming rows[] = {
        {"KVMKVMKVM", "KVM"},
        {"Microsoft Hv", "Hyper-V"},
        {"VMwareVMware", "VMware"},
        {"XenVMMXenVMM", "Xen"},
        {"TCGTCGTCGTCG", "QEMU"},
        {"VBoxVBoxVBox", "VirtualBox"},
        {"bhyve", "bhyve"},
        {"ACRNACRNACRN", "ACRN"},
        {"prl hyperv", "Parallels"},
        {"lrpepyh vr", "Parallels"},
        {NULL, NULL},
    };
    unsigned leaf, word[4] = {0}; /* the last word ends the text */
    __cpuid(0x40000000, leaf, word[0], word[1], word[2]);
    return virtual_name_of(rows, (const char *)word);
#else
    return NULL;
#endif
}

/* Who made the board, as far as the firmware says: for processors without cpuid. */
static const char *dmi_name(const char *root)
{
    static const struct naming vendors[] = {
        {"QEMU", "KVM or QEMU"},    {"VMware", "VMware"},       {"Xen", "Xen"},
        {"innotek", "VirtualBox"},  {"Google", "Google Cloud"}, {"Parallels", "Parallels"},
        {"OpenStack", "OpenStack"}, {"DigitalOcean", "KVM"},    {NULL, NULL},
    };
    char vendor[64], product[64];
    if (!sysfile_line(root, "/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor))
        return NULL;
    if (!sysfile_line(root, "/sys/class/dmi/id/product_name", product, sizeof product))
        product[0] = '\0';
    if (strcmp(vendor, "Amazon EC2") == 0)
        return strstr(product, ".metal") ? "none" : "Amazon EC2";
    if (strcmp(vendor, "Microsoft Corporation") == 0)
        return strcmp(product, "Virtual Machine") == 0 ? "Hyper-V" : "none";
    const char *name = virtual_name_of(vendors, vendor);
    return name ? name : "none";
}

static const char *xen_name(const char *root)
{
    char type[16];
    if (!sysfile_line(root, "/sys/hypervisor/type", type, sizeof type))
        return NULL;
    return strcmp(type, "xen") == 0 ? "Xen" : NULL;
}

static const char *x86_name(const char *root)
{
    if (!sysfile_mentions(root, "/proc/cpuinfo", " hypervisor "))
        return "none";
    const char *name = cpuid_name();
    return name ? name : "hypervisor without a name";
}

void virtual_hypervisor(const char *root, char *ret, size_t n)
{
    const char *name = xen_name(root);
    if (!name && sysfile_mentions(root, "/proc/cpuinfo", "vendor_id"))
        name = x86_name(root);
    if (!name)
        name = dmi_name(root);
    snprintf(ret, n, "%s", name ? name : "not known");
}

/* --- containers --- */

static const char *cgroup_name(const char *root)
{
    static const struct naming rows[] = {
        {"kubepods", "kubernetes"},   {"docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"},
        {"containerd", "containerd"}, {NULL, NULL},
    };
    for (const struct naming *r = rows; r->mark; r++)
        if (sysfile_mentions(root, "/proc/self/cgroup", r->mark))
            return r->name;
    return NULL;
}

void virtual_container(const char *root, char *ret, size_t n)
{
    const char *name = cgroup_name(root);
    if (!name && sysfile_exists(root, "/.dockerenv"))
        name = "docker";
    if (!name && sysfile_exists(root, "/run/.containerenv"))
        name = "podman";
    if (!name && sysfile_exists(root, "/var/run/secrets/kubernetes.io"))
        name = "kubernetes";
    if (name)
        snprintf(ret, n, "%s", name);
    else if (!sysfile_line(root, "/run/systemd/container", ret, n) || !*ret)
        snprintf(ret, n, "none");
}
